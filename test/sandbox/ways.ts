/** The ways to run a process of the tests: as this user or an ordinary one, caged or not. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { isReachable } from "../../src/verify/sandbox/interpreter.js";

const pathOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const ORDINARY = ["/usr/bin/setpriv", "--reuid=1001", "--regid=1001", "--clear-groups"];
const CAGE = ["/usr/bin/python3", pathOf("refuse-namespaces.py")];

const canChange = process.getuid?.() === 0 && existsSync(ORDINARY[0]) && isReachable(pathOf("."));
const canCage = existsSync(CAGE[0]);

/** One way. */
export interface Way {
  name: string;
  wrapper: string[];
  /** Whether this machine and user can do it. */
  isPossible: boolean;
  level: RegExp;
  uid?: number;
}

/** Every way. */
export const WAYS: Way[] = [
  { name: "as this user", wrapper: [], isPossible: true, level: /full|basic/ },
  {
    name: "as an ordinary user",
    wrapper: ORDINARY,
    isPossible: canChange,
    level: /full|basic/,
    uid: 1001,
  },
  {
    name: "as this user where namespaces are refused",
    wrapper: CAGE,
    isPossible: canCage,
    level: /^basic$/,
  },
  {
    name: "as an ordinary user where namespaces are refused",
    wrapper: [...ORDINARY, ...CAGE],
    isPossible: canChange && canCage,
    level: /^basic$/,
    uid: 1001,
  },
].filter(() => process.platform === "linux");

/** The command that runs a TypeScript file of this folder in a way. */
export function commandOf(way: Way, file: string): [string, ...string[]] {
  const words = [...way.wrapper, process.execPath, "--import", "tsx", pathOf(file)];
  return [words[0], ...words.slice(1)];
}
