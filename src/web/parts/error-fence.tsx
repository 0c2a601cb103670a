/** An error boundary: an error in its children does not affect the rest of the page. */
import { Component, type ReactNode } from 'react'
import { Trouble } from './notice.tsx'

export class ErrorFence extends Component<{ children: ReactNode }, { error: unknown }> {
  override state: { error: unknown } = { error: undefined }

  static getDerivedStateFromError(error: unknown): { error: unknown } {
    return { error }
  }

  override render(): ReactNode {
    if (this.state.error === undefined) return this.props.children
    return (
      <Trouble error={this.state.error}>
        <button type="button" className="button" onClick={() => this.setState({ error: undefined })}>
          Try again
        </button>
      </Trouble>
    )
  }
}
