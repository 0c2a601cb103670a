/** What LLM sessions refuse, and how they fail. */
import type { Entry } from './entry.ts'

export const sessionErrors = {
  sessions_missing: {
    kind: 'environment',
    http: 501,
    exit: 10,
    message: (d: { session: string }) => `Can't open the session "${d.session}": there is no key of an LLM provider.`,
    hint: () =>
      'Set RESOLVE_LLM_PROVIDER_API_KEY, and RESOLVE_LLM_MODEL=provider/model, where the host runs. To try it without a key: resolve run agent -i task=Try -i model=scripted/example.json',
  },
  model_missing: {
    kind: 'environment',
    http: 501,
    exit: 10,
    message: (d: { resolver: string; problem: string }) =>
      `The resolver "${d.resolver}" needs a model, and ${d.problem}.`,
    hint: () =>
      'Set RESOLVE_LLM_PROVIDER_API_KEY, and RESOLVE_LLM_MODEL=provider/model, where the host runs. To try it without a key: resolve run agent -i task=Try -i model=scripted/example.json',
  },
  session_unknown: {
    kind: 'user',
    http: 404,
    exit: 6,
    message: (d: { session: string }) => `There is no session "${d.session}" with a transcript.`,
    hint: () => '"resolve instance transcript <id>" lists the sessions of an instance.',
  },
  session_model_unknown: {
    kind: 'user',
    http: 422,
    exit: 5,
    message: (d: { session: string; problem: string }) => `Can't open the session "${d.session}": ${d.problem}.`,
    hint: () =>
      'Set RESOLVE_LLM_MODEL=provider/model, or pass "model". Providers: anthropic, openai, openai-compatible, google, scripted, recorded.',
  },
  session_options_invalid: {
    kind: 'user',
    http: 422,
    exit: 5,
    message: (d: { session: string; problem: string }) => `Can't open the session "${d.session}": ${d.problem}.`,
  },
  session_call_refused: {
    kind: 'user',
    http: 422,
    exit: 5,
    message: (d: { method: string; problem: string }) => `Can't carry out ${d.method}: ${d.problem}.`,
  },
  session_not_open: {
    kind: 'user',
    http: 409,
    exit: 7,
    message: (d: { session: string }) => `There is no open session "${d.session}".`,
    hint: () => 'Call platform.session.create first, and again after another host took over.',
  },
  session_helper_failed: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { reason: string }) => `The program beside the worker that runs LLM sessions failed: ${d.reason}.`,
    hint: () => 'The log of the instance may say more. A container needs an image with Node 24.',
  },
  mcp_server_failed: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { server: string; detail: string }) => `The MCP server "${d.server}" can't be used: ${d.detail}`,
  },
  session_failed: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { session: string; detail: string; status?: number }) =>
      `The session "${d.session}" failed: the LLM provider answered ${d.status === undefined ? '' : `${d.status}: `}${d.detail}`,
  },
  session_refused: {
    kind: 'user',
    http: 422,
    exit: 5,
    message: (d: { session: string }) => `The model refused the request of the session "${d.session}".`,
  },
  session_image_refused: {
    kind: 'user',
    http: 422,
    exit: 5,
    message: (d: { session: string; image: string; problem: string }) =>
      `Can't send "${d.image}" with a prompt of the session "${d.session}": ${d.problem}.`,
  },
  session_images_unsupported: {
    kind: 'user',
    http: 422,
    exit: 5,
    message: (d: { session: string; model: string; detail: string }) =>
      `The model ${d.model} refused a prompt with images of the session "${d.session}": ${d.detail}`,
    hint: () => 'Choose a model that takes images, or leave them out.',
  },
  session_limit: {
    kind: 'user',
    http: 422,
    exit: 5,
    message: (d: { session: string; what: string; limit: number; value: number }) =>
      `The session "${d.session}" reached its limit of ${d.limit} ${d.what} (${d.value}).`,
    hint: () => 'Pass a higher limit to ctx.sessions.create, or divide the work.',
  },
  budget_exceeded: {
    kind: 'user',
    http: 422,
    exit: 5,
    message: (d: { budget: number; spent: number; unit: 'US dollars' | 'tokens' }) =>
      `The LLM sessions used up the budget of the instance: ${d.unit === 'tokens' ? d.spent : `about ${d.spent.toFixed(4)}`} of ${d.budget} ${d.unit}.`,
    hint: () =>
      'What was done so far is kept. "resolve instance retry" with a higher --budget-usd or --budget-tokens starts again.',
  },
  budget_too_high: {
    kind: 'user',
    http: 422,
    exit: 5,
    message: (d: { budget: number; ceiling: number; unit: string; variable: string }) =>
      `A budget of ${d.budget} ${d.unit} is more than the ${d.ceiling} that the operator allows.`,
    hint: ({ variable }) => `Ask for less, or raise ${variable} where the instance is created.`,
  },
  session_answer_invalid: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { session: string; problem: string }) =>
      `The answer of the session "${d.session}" does not fit the schema that was asked for: ${d.problem}.`,
  },
  session_stuck: {
    kind: 'user',
    http: 422,
    exit: 5,
    message: (d: { session: string; tool: string; times: number }) =>
      `The session "${d.session}" made the same call of "${d.tool}" ${d.times} times in a row, with the same result.`,
  },
  script_ended: {
    kind: 'user',
    http: 422,
    exit: 5,
    message: (d: { session: string; step: number; from?: 'recording' }) =>
      d.from === undefined
        ? `The script of the session "${d.session}" has no turn for step ${d.step}.`
        : `The recording of the session "${d.session}" has no answer to this prompt at step ${d.step}.`,
    hint: () => 'Scripted and recorded models give only the answers of their file. Add the turn, or use a live model.',
  },
} as const satisfies Record<string, Entry>
