import { InvalidArgumentError } from "commander";
import { describe, expect, test } from "vitest";
import {
  amount,
  band,
  integer,
  jsonObject,
  orAll,
  port,
  positive,
  whole,
} from "./option-values.js";

describe("values of flags", () => {
  test.each([
    [whole, "0", 0],
    [whole, "999999999999999", 999999999999999],
    [positive, "1", 1],
    [integer, "-7", -7],
    [orAll, "all", "all"],
    [orAll, "12", 12],
    [amount, "0.7", 0.7],
    [amount, "1e-6", 1e-6],
    [amount, ".5", 0.5],
    [port, "65535", 65535],
    [band, "0.2,0.8", [0.2, 0.8]],
    [band, "0,1", [0, 1]],
    [jsonObject, '{"a": 1}', { a: 1 }],
  ])("%o takes %s", (parse, text, value) => {
    expect(parse(text)).toEqual(value);
  });

  test.each([
    [whole, ["", " 1", "1.5", "-1", "0x10", "1e3", "9999999999999999", "many"], /whole number/],
    [positive, ["0", "-1", "", "2.5"], /positive whole number/],
    [integer, ["--1", "-", "1.0"], /either sign/],
    [orAll, ["ALL", "0"], /positive whole number/],
    [amount, ["", "-0.1", "NaN", "Infinity", "1e999", "1,5", "."], /not negative/],
    [port, ["65536", "-1", "http"], /0 to 65535/],
    [band, ["0.8,0.2", "0.5", "0,2", "0,1,1", ",", "a,b"], /two rates/],
    [jsonObject, ["[1]", "null", "1", "{a: 1}"], /JSON object/],
  ])("%o refuses everything else", (parse, texts, message) => {
    for (const text of texts) {
      expect(() => parse(text), text).toThrow(InvalidArgumentError);
      expect(() => parse(text), text).toThrow(message);
    }
  });
});
