/** Names of attributes that mean the same as another: what files in use write for what the language calls it. */

const OF_NODES: Readonly<Record<string, string>> = {
  node_type: 'type',
  llm_prompt: 'prompt',
  retries: 'max_retries',
  default_choice: 'human.default_choice',
  script: 'tool_command',
  model: 'llm_model',
  provider: 'llm_provider',
  graph_ref: 'dot_file',
  max_turns: 'max_agent_turns',
  'stack.child_workflow': 'stack.child_dotfile',
}

const OF_GRAPHS: Readonly<Record<string, string>> = {
  default_max_retry: 'default_max_retries',
  vars: 'params',
  max_node_visits: 'max_visits',
}

/** A node's `var.<key>` is the `context.<key>` of its child. */
export function nodeAttribute(name: string): string {
  return OF_NODES[name] ?? name.replace(/^var\.(?=.)/, 'context.')
}

export function graphAttribute(name: string): string {
  return OF_GRAPHS[name] ?? name
}
