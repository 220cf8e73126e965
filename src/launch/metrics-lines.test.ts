/** Metrics as the releases of veRL write them, numbers that are none included. */
import { expect, test } from "vitest";
import { parseConsoleLine, parseFileLine } from "./metrics-lines.js";

test.each([
  ["null, as newer loggers write it", '{"step":3,"data":{"a":null,"b":1}}', { a: NaN, b: 1 }],
  ["a bare NaN, as 0.6 writes it", '{"step": 3, "data": {"a": NaN, "b": 1.0}}', { a: NaN, b: 1 }],
  [
    "infinities",
    '{"step": 3, "data": {"a": Infinity, "b": -Infinity}}',
    { a: Infinity, b: -Infinity },
  ],
  [
    "such words inside a name",
    '{"step": 3, "data": {"x/\\"NaN": 1, "Infinity, NaN": NaN}}',
    { 'x/"NaN': 1, "Infinity, NaN": NaN },
  ],
])("the file logger: %s", (_, line, metrics) => {
  expect(parseFileLine(line)).toEqual({ step: 3, metrics });
});

test.each(["", "NaN", '{"step": 3, "data": {"a": Na', '{"step": 3, "data": {"a": nonsense}}'])(
  "%j is no line of metrics",
  (line) => expect(parseFileLine(line)).toBeNull(),
);

test("the console says nan and inf", () => {
  const line = "(TaskRunner pid=7) step:3 - a:nan - b:inf - c:-inf - d:np.float64(0.5) - e:finance";
  const metrics = { a: NaN, b: Infinity, c: -Infinity, d: 0.5 };
  expect(parseConsoleLine(line)).toEqual({ step: 3, metrics });
});
