/** Maps addresses to screens. Without a token every address shows the sign-in screen; the address does not change. */
import { lazy, Suspense } from 'react'
import { Link, Redirect, Route, Switch } from 'wouter'
import { Attention } from './attention/attention.tsx'
import { NotifyItem } from './attention/notify-item.tsx'
import { Keyboard } from './keyboard/keyboard.tsx'
import { AppFrame } from './parts/app-frame.tsx'
import { Loading } from './parts/notice.tsx'
import { Screen } from './parts/screen.tsx'
import { useSession } from './parts/use-session.ts'
import { CreateScreen } from './screens/create.tsx'
import { InboxScreen } from './screens/inbox.tsx'
import { ResolverScreen, ResolversScreen } from './screens/resolvers.tsx'
import { SignInScreen } from './screens/sign-in.tsx'

const CompareScreen = lazy(() => import('./screens/compare/compare.tsx'))
// Loaded when they are opened, as they are not needed for the first screen.
const InstancesScreen = lazy(() => import('./screens/instances.tsx'))
const InstanceScreen = lazy(() => import('./screens/instance/screen.tsx'))

export function App() {
  const session = useSession()
  if (session.state === 'checking') return <Loading what="Checking your sign-in…" />
  if (session.state === 'signed-out') return <SignInScreen notice={session.notice} />
  const only = session.who.instance
  return (
    <AppFrame menu={<NotifyItem />}>
      <Keyboard />
      <Attention />
      <Suspense fallback={<Loading what="Loading…" />}>
        <Switch>
          <Route path="/">{only === null ? <CreateScreen /> : <Redirect to={`/instances/${only}`} />}</Route>
          <Route path="/instances" component={InstancesScreen} />
          <Route path="/instances/compare" component={CompareScreen} />
          <Route path="/instances/:id">{({ id }) => <Redirect to={`/instances/${id}/overview`} replace />}</Route>
          <Route path="/instances/:id/:tab">{({ id, tab }) => <InstanceScreen key={id} id={id} tab={tab} />}</Route>
          <Route path="/inbox" component={InboxScreen} />
          <Route path="/resolvers" component={ResolversScreen} />
          <Route path="/resolvers/:name">{({ name }) => <ResolverScreen key={name} name={name} />}</Route>
          <Route path="/sign-in">
            <Redirect to="/" replace />
          </Route>
          <Route>
            <Screen title="Not found">
              <p>
                There is no such page. <Link href="/">Start</Link>
              </p>
            </Screen>
          </Route>
        </Switch>
      </Suspense>
    </AppFrame>
  )
}
