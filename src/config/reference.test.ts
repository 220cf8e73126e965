import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { describeConfig } from "./reference.js";
import { CONFIG_KEYS } from "./schema.js";

test("docs/CONFIG.md is what the schema says (vitest -u writes it anew)", async () => {
  const path = fileURLToPath(new URL("../../docs/CONFIG.md", import.meta.url));
  await expect(describeConfig()).toMatchFileSnapshot(path);
});

test("keys of one type keep a sentence each", () => {
  const meaning = (key: string) => CONFIG_KEYS.find(({ path }) => path === key)?.doc;
  expect(meaning("trainer.save_freq")).not.toBe(meaning("trainer.test_freq"));
  expect(meaning("data.train_max_samples")).not.toBe(meaning("data.val_max_samples"));
});
