/** The entry point of the web page: checks the session, then shows the screen of the address. */
import { CSPProvider } from '@base-ui/react/csp-provider'
import { QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { queryClient } from './api/queries.ts'
import { onSession, openSession } from './api/session.ts'
import { App } from './app.tsx'
import { applyTheme } from './parts/theme.ts'
import './styles/tokens.css'
import './styles/base.css'
import './styles/parts.css'
import './styles/forms.css'
import './styles/screens.css'
import './styles/instance.css'

void openSession()
applyTheme()
// Cached data must not be shown to the user of another token.
onSession(() => void queryClient.resetQueries())

const place = document.getElementById('root')
if (place !== null) {
  createRoot(place).render(
    <StrictMode>
      <CSPProvider disableStyleElements>
        <QueryClientProvider client={queryClient}>
          <App />
        </QueryClientProvider>
      </CSPProvider>
    </StrictMode>,
  )
}
