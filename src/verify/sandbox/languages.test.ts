/** What is read of a program's text before it is compiled. */
import { describe, expect, test } from "vitest";
import { mainClass } from "./languages.js";

describe("the class that a Java program starts from", () => {
  const MAIN = "{ public static void main(String[] a) { } }";

  test.each([
    [`public class Foo ${MAIN}`, "Foo"],
    [`class A { } class Foo ${MAIN}`, "Foo"],
    [`// the public class Bar is not used\nclass Foo ${MAIN}`, "Foo"],
    [`/* public class Bar\n */ class Foo ${MAIN}`, "Foo"],
    [`class Foo ${MAIN} class B { String s = "public class Bar // "; }`, "Foo"],
    [`class Foo { String s = "\\"/*"; char c = '"'; } public class Baz ${MAIN} // */`, "Baz"],
    ["", "Main"],
  ])("of %s is %s", (source, name) => {
    expect(mainClass(source)).toBe(name);
  });
});
