/**
 * For programs of {@link file://./plain-resolver.ts}: `call(method, params)` calls a method of the platform, with token and epoch unless the
 * params have them, and gives its result or throws `{code, message}`; the code is `lost` where another host took over. `ask` asks until one answers.
 */
export const PLATFORM_CALLS = `
  let epochNow = 0, callCount = 0
  const callsWaiting = {}
  const initialize = me.on['resolver.initialize']
  me.on['resolver.initialize'] = (params) => {
    if (epochNow !== params.epoch) for (const one of Object.values(callsWaiting)) one.reject({ code: 'lost' })
    epochNow = params.epoch
    return initialize(params)
  }
  const call = (method, params) => new Promise((resolve, reject) => {
    const id = 'call-' + ++callCount
    const over = (settle) => (value) => { delete callsWaiting[id]; settle(value) }
    callsWaiting[id] = { resolve: over(resolve), reject: over(reject) }
    const whole = { token: me.config.sub_container_token, epoch: epochNow, ...params }
    print(JSON.stringify({ jsonrpc: '2.0', id, method, params: whole }) + '\\n')
  })
  let unread = ''
  process.stdin.on('data', (bytes) => {
    const lines = (unread + bytes).split('\\n')
    unread = lines.pop()
    for (const line of lines) {
      let frame
      try { frame = JSON.parse(line) } catch { continue }
      const waiting = frame.method === undefined ? callsWaiting[frame.id] : undefined
      if (waiting === undefined) continue
      if (frame.error) waiting.reject({ code: frame.error.data?.code, message: frame.error.message })
      else waiting.resolve(frame.result)
    }
  })
  const ask = async (...calls) => {
    for (;;) {
      try {
        let answer
        for (const one of calls) answer = await one()
        return answer
      } catch (error) {
        if (error.code !== 'lost') throw error
      }
    }
  }
  const create = (name, options = {}, more = {}) => call('platform.session.create', { name, number: 1, options, ...more })
  const prompt = (session_id, number, text, more = {}) => call('platform.session.run', { session_id, number, prompt: text, ...more })
`
