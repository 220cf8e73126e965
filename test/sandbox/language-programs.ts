/** The same small programs in every language of the sandbox. */

/** What each language is tried with. */
export interface LanguagePrograms {
  hello: string;
  /** Prints the sum of two integers on standard input. */
  sum: string;
  broken: string;
  loops: string;
  /** Touches memory without end. */
  hungry: string;
  /** Prints without end. */
  chatty: string;
  /** Prints what it can read of /etc/passwd, else "refused". */
  reads: string;
  /** Ends with exit code 3. */
  exits: string;
}

/** By language. */
export const PROGRAMS: Record<string, LanguagePrograms> = {
  python: {
    hello: `print("hello")`,
    sum: `print(sum(map(int, input().split())))`,
    broken: `print(`,
    loops: `while True: pass`,
    hungry: `x = []\nwhile True: x.append(bytearray(10**6))`,
    chatty: `while True: print("x" * 1000)`,
    reads: `try: print(open("/etc/passwd").read())\nexcept OSError: print("refused")`,
    exits: `import sys; sys.exit(3)`,
  },
  cpp: {
    hello: `#include <cstdio>\nint main() { puts("hello"); }`,
    sum: `#include <bits/stdc++.h>\nint main() { long long a, b; std::cin >> a >> b; std::cout << a + b << "\\n"; }`,
    broken: `int main() { return x; }`,
    loops: `int main() { for (volatile int i = 0;; i = i + 1); }`,
    hungry: `#include <cstdlib>\n#include <cstring>\nint main() { for (;;) memset(malloc(1 << 20), 1, 1 << 20); }`,
    chatty: `#include <cstdio>\nint main() { for (;;) puts("xxxxxxxxxxxxxxxxxxxx"); }`,
    reads: `#include <cstdio>\nint main() { puts(fopen("/etc/passwd", "r") ? "root" : "refused"); }`,
    exits: `int main() { return 3; }`,
  },
  java: {
    hello: `class Main { public static void main(String[] a) { System.out.println("hello"); } }`,
    sum: `import java.util.*;\npublic class Sum { public static void main(String[] a) { Scanner s = new Scanner(System.in); System.out.println(s.nextLong() + s.nextLong()); } }`,
    broken: `class Main { int x = "text"; }`,
    loops: `class Main { public static void main(String[] a) { for (;;); } }`,
    hungry: `import java.util.*;\nclass Main { public static void main(String[] a) { List<byte[]> l = new ArrayList<>(); for (;;) l.add(new byte[1 << 20]); } }`,
    chatty: `class Main { public static void main(String[] a) { for (;;) System.out.println("xxxxxxxxxxxxxxxxxxxxxxxxx"); } }`,
    reads: `import java.nio.file.*;\nclass Main { public static void main(String[] a) { try { System.out.println(Files.readString(Path.of("/etc/passwd"))); } catch (Exception e) { System.out.println("refused"); } } }`,
    exits: `class Main { public static void main(String[] a) { Runtime.getRuntime().halt(3); } }`,
  },
  javascript: {
    hello: `console.log("hello")`,
    sum: `const [a, b] = require("fs").readFileSync(0, "utf8").split(" ").map(BigInt); console.log(String(a + b))`,
    broken: `const x = ;`,
    loops: `for (;;);`,
    hungry: `const x = []; for (;;) x.push(new Array(1e5).fill({}))`,
    chatty: `const fs = require("fs"); for (;;) fs.writeSync(1, "x".repeat(1000))`,
    reads: `try { console.log(require("fs").readFileSync("/etc/passwd", "utf8")) } catch { console.log("refused") }`,
    exits: `process.exit(3)`,
  },
  go: {
    hello: `package main\nimport "fmt"\nfunc main() { fmt.Println("hello") }`,
    sum: `package main\nimport "fmt"\nfunc main() { var a, b int; fmt.Scan(&a, &b); fmt.Println(a + b) }`,
    broken: `package main\nfunc main() { x := 1 }`,
    loops: `package main\nfunc main() { for { } }`,
    hungry: `package main\nfunc main() { var x [][]byte; for { b := make([]byte, 1<<20); for i := range b { b[i] = 1 }; x = append(x, b) } }`,
    chatty: `package main\nimport "fmt"\nfunc main() { for { fmt.Println("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx") } }`,
    reads: `package main\nimport ("fmt"; "os")\nfunc main() { b, err := os.ReadFile("/etc/passwd"); if err != nil { fmt.Println("refused") } else { fmt.Println(string(b)) } }`,
    exits: `package main\nimport "os"\nfunc init() { os.Exit(3) }\nfunc main() { }`,
  },
  rust: {
    hello: `fn main() { println!("hello"); }`,
    sum: `use std::io::*;\nfn main() { let mut s = String::new(); stdin().read_to_string(&mut s).unwrap(); println!("{}", s.split_whitespace().map(|x| x.parse::<i64>().unwrap()).sum::<i64>()); }`,
    broken: `fn main() { let x: i32 = "text"; }`,
    loops: `fn main() { loop { std::hint::black_box(1); } }`,
    hungry: `fn main() { let mut x = Vec::new(); loop { x.push(vec![1u8; 1 << 20]); std::hint::black_box(&x); } }`,
    chatty: `fn main() { loop { println!("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"); } }`,
    reads: `fn main() { match std::fs::read_to_string("/etc/passwd") { Ok(s) => println!("{s}"), Err(_) => println!("refused") } }`,
    exits: `fn main() { std::process::exit(3); }`,
  },
  bash: {
    hello: `echo hello`,
    sum: `read a b; echo $(echo $((a + b)) | cat)`,
    broken: `if true; then`,
    loops: `while :; do :; done`,
    hungry: `x=xxxxxxxxxxxxxxxx; while :; do x=$x$x; done`,
    chatty: `yes`,
    reads: `cat /etc/passwd 2> /dev/null || echo refused`,
    exits: `exit 3`,
  },
};
