/** The OpenAPI document, made of the schemas that the routes parse with. */
import { z } from "zod";
import { VERSION } from "../core/version.js";
import {
  errorSchema,
  healthSchema,
  rewardRequestSchema,
  rewardResponseSchema,
  runCodeRequestSchema,
  runCodeResponseSchema,
  verifyRequestSchema,
  verifyResponseSchema,
  verifyResultSchema,
} from "./schemas.js";

interface Route {
  path: string;
  method: "get" | "post";
  summary: string;
  request?: z.ZodType;
  response: z.ZodType | "text";
}

const ROUTES: Route[] = [
  {
    path: "/verify",
    method: "post",
    summary: "Judge completions against problems",
    request: verifyRequestSchema,
    response: z.union([verifyResultSchema, verifyResponseSchema]),
  },
  {
    path: "/reward",
    method: "post",
    summary: "veRL's compute_score: its arguments in, its dictionary out",
    request: rewardRequestSchema,
    response: rewardResponseSchema,
  },
  {
    path: "/run_code",
    method: "post",
    summary: "Run one program (SandboxFusion's interface)",
    request: runCodeRequestSchema,
    response: runCodeResponseSchema,
  },
  {
    path: "/healthz",
    method: "get",
    summary: "State, isolation level, and what is judged by",
    response: healthSchema,
  },
  { path: "/metrics", method: "get", summary: "Prometheus metrics", response: "text" },
];

const REFUSALS: Record<string, string> = {
  "401": "The bearer token is missing or wrong",
  "413": "The body is larger than the service takes",
  "422": "The body does not fit its schema",
  "429": "The queue is full; Retry-After says when to try again",
  "503": "The sandbox failed, or the service is shutting down",
  "504": "No sandbox was free in time",
};

const jsonOf = (schema: z.ZodType) => ({
  "application/json": { schema: z.toJSONSchema(schema, { unrepresentable: "any" }) },
});

/** Builds the document. */
export function openApiDocument(): object {
  const refusals = Object.fromEntries(
    Object.entries(REFUSALS).map(([status, description]) => [
      status,
      { description, content: jsonOf(errorSchema) },
    ]),
  );
  const operationOf = ({ summary, request, response }: Route) => ({
    summary,
    ...(request === undefined ? {} : { requestBody: { required: true, content: jsonOf(request) } }),
    responses: {
      "200": {
        description: "Done",
        content:
          response === "text" ? { "text/plain": { schema: { type: "string" } } } : jsonOf(response),
      },
      ...(request === undefined ? {} : refusals),
    },
  });
  return {
    openapi: "3.1.0",
    info: { title: "code-rlvr", version: VERSION },
    paths: Object.fromEntries(
      ROUTES.map((route) => [route.path, { [route.method]: operationOf(route) }]),
    ),
  };
}
