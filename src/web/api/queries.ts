/** The cached queries of the screens. Lists are refetched while the page is visible. */
import { keepPreviousData, QueryClient, queryOptions } from '@tanstack/react-query'
import { backoffMs } from '../../core/primitives/backoff.ts'
import type { Status } from '../../core/protocol/status.ts'
import * as calls from './calls.ts'
import { Problem } from './problem.ts'

/** Milliseconds between two refetches of a list; none while the page is hidden. */
const LIST_EVERY_MS = 2_000
const CATALOG_EVERY_MS = 4_000

/** Retries only if the server was unreachable: a refused request would be refused again. */
export function retryUnanswered(count: number, error: unknown): boolean {
  return !(error instanceof Problem && error.status > 0) && count < 3
}

export function retryPauseMs(count: number): number {
  return backoffMs(count, 500, 4_000)
}

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      retry: retryUnanswered,
      retryDelay: retryPauseMs,
      staleTime: 1_000,
      networkMode: 'always',
    },
  },
})

export const WAITING: readonly Status[] = ['awaiting_input']

export const resolversQuery = queryOptions({
  queryKey: ['resolvers'],
  queryFn: calls.fetchResolvers,
  refetchInterval: CATALOG_EVERY_MS,
})

export const resolverQuery = (name: string) =>
  queryOptions({
    queryKey: ['resolvers', name],
    queryFn: () => calls.fetchResolver(name),
    refetchInterval: CATALOG_EVERY_MS,
  })

export const instancesQuery = (wish: calls.ListWish) =>
  queryOptions({
    queryKey: ['instances', wish],
    queryFn: () => calls.fetchInstances(wish),
    refetchInterval: LIST_EVERY_MS,
    placeholderData: keepPreviousData,
  })

export const countsQuery = (wish: calls.CountWish) =>
  queryOptions({
    queryKey: ['instances', 'counts', wish],
    queryFn: () => calls.fetchCounts(wish),
    refetchInterval: LIST_EVERY_MS,
    placeholderData: keepPreviousData,
  })

export const instanceQuery = (id: string) =>
  queryOptions({ queryKey: ['instance', id], queryFn: () => calls.fetchInstance(id) })

export const pendingQuery = (id: string) =>
  queryOptions({
    queryKey: ['pending', id],
    queryFn: () => calls.fetchPending(id),
    refetchInterval: LIST_EVERY_MS,
  })

export const inboxQuery = queryOptions({
  queryKey: ['inbox'],
  queryFn: calls.fetchInbox,
  refetchInterval: LIST_EVERY_MS,
})
