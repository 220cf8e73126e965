import { describe, expect, test } from "vitest";
import { ConfigError } from "../../core/errors.js";
import { packRequest } from "./wire.js";

const LIMITS = { cpu_ms: 5000, wall_ms: 15_000, memory: 2 ** 29, output: 2 ** 24 };

describe("packRequest", () => {
  test("writes the lengths, the header and the body", () => {
    const header = { op: "run", ...LIMITS };
    const request = packRequest(header, [Buffer.from("ab"), Buffer.from("c")]);
    const length = request.readUInt32LE(0);
    expect(request.readUInt32LE(4)).toBe(3);
    expect(JSON.parse(request.toString("utf8", 8, 8 + length))).toEqual(header);
    expect(request.toString("utf8", 8 + length)).toBe("abc");
  });

  test.each([
    ["cpu_ms", 2 ** 53],
    ["wall_ms", 2 ** 32],
    ["wall_ms", Number.NaN],
    ["memory", 512.3 * 2 ** 20],
    ["memory", 1e21],
    ["memory", 0],
    ["output", 2 ** 31],
  ])("refuses the limit %s of %d by its name", (name, value) => {
    const pack = () => packRequest({ op: "run", ...LIMITS, [name]: value });
    expect(pack).toThrow(ConfigError);
    expect(pack).toThrow(`limit ${name}: expected`);
  });

  test("leaves requests without limits alone", () => {
    expect(packRequest({ op: "cancel", id: 3 }).length).toBeGreaterThan(8);
  });
});
