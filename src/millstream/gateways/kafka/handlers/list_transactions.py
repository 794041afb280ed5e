"""ListTransactions (key 66), versions 0 to 2: every transactional id there is, or those asked for.

Behaviour
- Filters narrow down; an empty list of states or producer ids stands for all.
- States that nobody has heard of are told, and match nothing.

Versions
- 1   duration_filter: only transactions that began longer ago than so many ms
- 2   transactional_id_pattern, an RE2 expression for the whole id; INVALID_REGULAR_EXPRESSION if it is none
"""

from typing import Final

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.broker.transactions import Listed
from millstream.errors import Refused
from millstream.groups.regex import matching
from millstream.transactions.transaction import State
from millstream.wire.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
    ListTransactionsResponseState,
)

_TITLES: Final = frozenset(state.title for state in State)


def handle(
    broker: Broker, session: Session, request: ListTransactionsRequest, version: int
) -> ListTransactionsResponse:
    try:
        listed = [each for each in broker.transactions.listed(session) if _wanted(each, request)]
        if request.transactional_id_pattern:
            matches = matching(request.transactional_id_pattern, (each.id for each in listed))
            listed = [each for each in listed if each.id in matches]
    except Refused as refusal:
        return ListTransactionsResponse(error_code=refusal.code)
    return ListTransactionsResponse(
        unknown_state_filters=[title for title in request.state_filters if title not in _TITLES],
        transaction_states=[
            ListTransactionsResponseState(
                transactional_id=each.id,
                producer_id=each.transaction.producer_id,
                transaction_state=each.transaction.state.title,
            )
            for each in listed
        ],
    )


def _wanted(listed: Listed, request: ListTransactionsRequest) -> bool:
    transaction = listed.transaction
    if request.state_filters and transaction.state.title not in request.state_filters:
        return False
    if request.producer_id_filters and transaction.producer_id not in request.producer_id_filters:
        return False
    return request.duration_filter < 0 or listed.age_ms > request.duration_filter
