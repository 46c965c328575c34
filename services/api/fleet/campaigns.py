"""Campaigns: /campaigns, and one of them."""

from typing import Annotated

from fastapi import APIRouter, Request, Response
from fastapi import Path as PathParameter

from collector.default_campaign import DEFAULT_CAMPAIGN
from collector.event_names import COUNTS_TIME
from services.api.described_answer import described_by
from services.api.formats.documents import forms_of
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from storage.query.answers.campaigns import CampaignAnswer, CampaignsAnswer
from storage.query.selections.selection import LONGEST_NAME
from storage.query.shapes.campaigns import CampaignQuestion, CampaignsQuestion

_FORMS = forms_of(CampaignsAnswer, "campaigns")
_ONE = forms_of(CampaignAnswer)
CampaignName = Annotated[str, PathParameter(max_length=LONGEST_NAME, description="Name of the campaign.")]


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the routes."""

    @router.get(
        "/campaigns",
        summary="All campaigns",
        description="Each with its plan, its state, the machines that it selects, and its visits of the last day by "
        "outcome and hour; and the plan of a new campaign.",
        response_model=described_by(CampaignsAnswer),
        responses={status: PROBLEMS[status] for status in (401, 406, 422, 503)},
        openapi_extra=_FORMS.openapi,
        tags=["fleet"],
    )
    async def campaigns(request: Request) -> Response:
        question = CampaignsQuestion(DEFAULT_CAMPAIGN, tuple(sorted(COUNTS_TIME)))
        return await handler.answer(request, _FORMS, lambda: handler.queries.ask(question))

    @router.get(
        "/campaigns/{name}",
        summary="One campaign",
        description="Its plan, its state, the machines that it selects, and its visits of the last day by outcome and "
        "hour.",
        response_model=described_by(CampaignAnswer),
        responses={status: PROBLEMS[status] for status in (401, 404, 406, 422, 503)},
        openapi_extra=_ONE.openapi,
        tags=["fleet"],
    )
    async def campaign_of_name(request: Request, name: CampaignName) -> Response:
        question = CampaignQuestion(name)
        return await handler.answer(request, _ONE, lambda: handler.queries.ask(question))
