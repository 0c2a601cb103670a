/** A host that promotes once and may be killed in between: for tests of promotion. Arguments: the place, and `finish` for one that adopts. */
import { finishPromotions, promote } from '../../src/core/promotion/promote.ts'
import { REQUEST } from './promotion-place.ts'

const [place = '{}', what] = process.argv.slice(2)
const options = { http: { retryMs: [5, 5] } }
if (what === 'finish') await finishPromotions(JSON.parse(place), options)
else await promote(JSON.parse(place), REQUEST, options)
