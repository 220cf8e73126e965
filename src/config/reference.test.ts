import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { describeConfig } from "./reference.js";

test("docs/CONFIG.md is what the schema says (vitest -u writes it anew)", async () => {
  const path = fileURLToPath(new URL("../../docs/CONFIG.md", import.meta.url));
  await expect(describeConfig()).toMatchFileSnapshot(path);
});
