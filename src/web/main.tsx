/** The page begins here: who is signed in, then the screen of the address. */
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
// What one token was shown is not for the next.
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
