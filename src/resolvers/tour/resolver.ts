/**
 * A tour of what a resolver can do: a form that grows, phases, progress, an input request with checks, messages that depend on
 * the phase, data files, artifacts, and a pause that keeps the progress.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { checkbox, length, optional, resolver, select, text, textarea } from '../../sdk/index.ts'

/** Milliseconds of one step. */
const STEP_MS = { instant: 0, brisk: 200, slow: 1_500 }

const PARTS = ['foundations', 'walls', 'windows', 'roof']

/** The progress of a run, stored for the run that resumes it. */
interface Place {
  built: number
  notes: string[]
}

let place: Place = { built: 0, notes: [] }
let inAHurry = false

const inscription = text({
  label: 'Inscription',
  required: true,
  checks: [{ condition: length({ max: 60 }), message: 'An inscription has 60 characters at most' }],
})

resolver({
  phases: ['surveying', 'planning', 'building', 'opening'],

  params: (filled) => ({
    subject: text({ label: 'What to build', placeholder: 'a lighthouse' }),
    pace: select({ label: 'Pace', options: ['instant', 'brisk', 'slow'], default: 'brisk' }),
    plaque: checkbox({ label: 'Put up a plaque', description: 'Asks for its inscription' }),
    inscription: filled['plaque'] === true ? inscription : undefined,
  }),

  messages: {
    note: {
      label: 'Leave a note',
      description: 'It is read out at the opening',
      fields: { text: textarea({ label: 'Note', required: true }) },
      on({ text }, ctx) {
        place.notes.push(text)
        ctx.mergeState({ notes: place.notes.length })
      },
    },
    hurry: {
      label: 'Hurry up',
      description: 'The builders stop taking breaks',
      fields: { really: checkbox({ label: 'Really', default: true }) },
      when: (state) => state['phase'] === 'building',
      on({ really }, ctx) {
        inAHurry = really
        ctx.emit('hurried', { really })
      },
    },
  },

  async run(ctx) {
    place = ctx.checkpoint.load<Place>() ?? place
    const subject = ctx.params.subject?.trim() || 'a lighthouse'
    const step = () => sleep(inAHurry ? 0 : STEP_MS[ctx.params.pace], undefined, { signal: ctx.signal })

    if (!ctx.resume) {
      ctx.phase('surveying')
      await step()
      await ctx.data.write('survey.md', `# Survey\n\nThe ground is good for ${subject}.\n`)
    }

    if (place.built === 0) ctx.phase('planning')
    await ctx.data.write('plan.json', JSON.stringify({ subject, parts: PARTS }, null, 2))
    ctx.mergeState({ plan_steps: PARTS, completed_steps: PARTS.slice(0, place.built) })
    const answer = await ctx.ask('confirm-plan', `Build ${subject} in ${PARTS.length} steps?`, {
      go: checkbox({ label: 'Go ahead', default: true }),
      note: textarea({
        label: 'A note for the builders',
        checks: [{ condition: optional(length({ min: 3 })), message: 'A note has at least 3 characters' }],
      }),
      foreman: text({
        label: 'Who is in charge',
        placeholder: 'Ada',
        checks: [{ condition: optional(length({ max: 40 })), message: 'A name has 40 characters at most' }],
      }),
    })
    if (!answer.go) return `Nothing was built: the plan for ${subject} was turned down`

    ctx.phase('building')
    for (const [index, part] of PARTS.entries()) {
      if (index < place.built) continue
      ctx.progress(part, index / PARTS.length, `Building the ${part}`)
      await step()
      place.built = index + 1
      ctx.checkpoint.save(place)
      ctx.mergeState({ completed_steps: PARTS.slice(0, place.built) })
      await ctx.data.write('building.md', `# ${subject}\n\n${PARTS.slice(0, place.built).join('\n')}\n`)
    }
    ctx.progress('built', 1)

    ctx.phase('opening')
    const speech = [answer.note, ...place.notes, ctx.params.inscription].filter((line) => line).join('\n')
    await ctx.data.write('opening/speech.md', `${speech || 'No words were needed.'}\n`)
    ctx.artifact('file', 'building.md', { subject })
    ctx.artifact('summary', `${subject}: ${PARTS.length} of ${PARTS.length} parts built`)
    return `Built ${subject}${answer.foreman ? `; ${answer.foreman} was in charge` : ''}`
  },
}).serve()
