/**
 * Tries to take a run directory together with others: waits for the file `go`, tries, says how it went
 * and holds on until its input ends.
 *
 *     lock-child.ts DIR GO
 */
import { existsSync } from "node:fs";
import { lockRun } from "../../src/core/run-lock.js";

const [dir, go] = process.argv.slice(2);
console.log("ready");
// Without a pause, so that all see the file at the same moment.
while (!existsSync(go));
try {
  const release = lockRun(dir);
  console.log("held");
  process.stdin.resume().on("end", release);
} catch (error) {
  console.log((error as Error).message);
  process.exit();
}
