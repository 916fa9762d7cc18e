"""Events of a code forge: the payload's shape depends on the type of the event."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache
from random import Random

from shredlake.cli.verbs.demo_data import json_bool, quoted, sentence, skewed, vocabulary

FORGE_START = datetime(2024, 1, 15, tzinfo=UTC)
EVENTS = {
    "PushEvent": 0.56,
    "CreateEvent": 0.70,
    "PullRequestEvent": 0.77,
    "IssueCommentEvent": 0.83,
    "WatchEvent": 0.89,
    "DeleteEvent": 0.93,
    "IssuesEvent": 0.96,
    "PullRequestReviewEvent": 0.975,
    "ForkEvent": 0.99,
    "ReleaseEvent": 0.995,
    "MemberEvent": 1.0,
}


def github(random: Random, first: int, count: int, rows: int) -> Iterator[str]:
    """Events of a code forge: the payload's shape depends on the type; most of its paths are rare."""
    names, totals = list(EVENTS), list(EVENTS.values())
    start = int(FORGE_START.timestamp())
    for row in range(first, first + count):
        event = random.choices(names, cum_weights=totals)[0]
        actor, repo = skewed(random, 300_000), skewed(random, 500_000)
        when = second(start + row // 40)
        org = f',"org":{{{actor_fields(repo % 5000, "org")}}}' if repo % 4 == 0 else ""
        yield (
            f'{{"id":"{34_000_000_000 + row * 3 + random.randrange(3)}","type":"{event}",'
            f'"actor":{{{actor_fields(actor, "user")}}},"repo":{{"id":{repo + 10_000_000},'
            f'"name":"{repo_name(repo)}",'
            f'"url":"https://api.forge.example/repos/{repo_name(repo)}"}},'
            f'"payload":{payload(random, event, actor, repo, when)},"public":true,'
            f'"created_at":"{when}"{org}}}'
        )


@lru_cache(maxsize=100_000)
def login(user: int) -> str:
    return f"{vocabulary()[user * 7 % 2900]}{user % 97}{'-bot' if user % 50 == 0 else ''}"


def repo_name(repo: int) -> str:
    return f"{login(repo * 3 % 300_000)}/{vocabulary()[repo % 2900]}-{vocabulary()[repo // 11 % 2900]}"


@lru_cache(maxsize=4096)
def second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def actor_fields(user: int, kind: str) -> str:
    name = login(user)
    display = f'"display_login":"{name}",' if kind == "user" else ""
    return (
        f'"id":{user + 1000},"login":"{name}",{display}"gravatar_id":"",'
        f'"url":"https://api.forge.example/{kind}s/{name}",'
        f'"avatar_url":"https://avatars.forge.example/u/{user + 1000}?"'
    )


def sha(random: Random) -> str:
    return f"{random.getrandbits(160):040x}"


def payload(random: Random, event: str, actor: int, repo: int, when: str) -> str:
    if event == "PushEvent":
        size = 1 + skewed(random, 6)
        commits = ",".join(push_commit(random, actor, repo) for _ in range(size))
        return (
            f'{{"repository_id":{repo + 10_000_000},'
            f'"push_id":{16_000_000_000 + random.randrange(10**9)},"size":{size},'
            f'"distinct_size":{size},"ref":"refs/heads/{branch(random)}","head":"{sha(random)}",'
            f'"before":"{sha(random)}",'
            f'"commits":[{commits}]}}'
        )
    if event == "CreateEvent":
        kind = random.choice(("branch", "branch", "repository", "tag"))
        ref = "null" if kind == "repository" else f'"{branch(random)}"'
        about = f'"{sentence(random, 8)}"' if random.random() < 0.3 else "null"
        return (
            f'{{"ref":{ref},"ref_type":"{kind}","master_branch":"main",'
            f'"description":{about},"pusher_type":"user"}}'
        )
    if event == "DeleteEvent":
        return f'{{"ref":"{branch(random)}","ref_type":"branch","pusher_type":"user"}}'
    if event == "WatchEvent":
        return '{"action":"started"}'
    if event == "MemberEvent":
        return f'{{"member":{user_object(skewed(random, 300_000))},"action":"added"}}'
    if event == "ForkEvent":
        return f'{{"forkee":{repo_object(repo + 1, actor, when)}}}'
    if event == "ReleaseEvent":
        return (
            f'{{"action":"published","release":{{"url":"https://api.forge.example/releases/{repo}",'
            f'"id":{repo},'
            f'"tag_name":"v{repo % 9}.{repo % 23}","name":null,"draft":false,'
            f'"prerelease":{json_bool(repo % 6 == 0)},'
            f'"created_at":"{when}","assets":[],"body":"{sentence(random, 40)}",'
            f'"author":{user_object(actor)}}}}}'
        )
    number = 1 + skewed(random, 9000)
    if event == "IssuesEvent":
        action = random.choice(("opened", "closed", "closed"))
        return f'{{"action":"{action}","issue":{issue(random, actor, repo, number, when)}}}'
    if event == "IssueCommentEvent":
        return (
            f'{{"action":"created","issue":{issue(random, actor, repo, number, when)},"comment":'
            f'{{"id":{10**9 + random.randrange(10**9)},"node_id":"IC_{random.getrandbits(64):x}",'
            f'"user":{user_object(actor)},'
            f'"created_at":"{when}","updated_at":"{when}","author_association":"NONE",'
            f'"body":"{sentence(random, 35)}",'
            f'"reactions":{reactions(random)},"performed_via_github_app":null}}}}'
        )
    if event == "PullRequestReviewEvent":
        return (
            f'{{"action":"created","review":{{"id":{10**9 + random.randrange(10**9)},'
            f'"user":{user_object(actor)},"body":null,'
            f'"commit_id":"{sha(random)}","submitted_at":"{when}","state":"approved"}},'
            f'"pull_request":{pull_request(random, actor, repo, number, when)}}}'
        )
    action = random.choice(("opened", "closed"))
    request = pull_request(random, actor, repo, number, when)
    return f'{{"action":"{action}","number":{number},"pull_request":{request}}}'


def branch(random: Random) -> str:
    if random.random() < 0.5:
        return "main"
    topic = random.choice(("feature", "fix", "dependabot/npm"))
    return f"{topic}/{sentence(random, 1)}-{random.randrange(5000)}"


def push_commit(random: Random, actor: int, repo: int) -> str:
    digest, name = sha(random), login(actor)
    return (
        f'{{"sha":"{digest}","author":{{"email":"{actor}+{name}@users.noreply.forge.example",'
        f'"name":"{name}"}},'
        f'"message":"{sentence(random, 2 + skewed(random, 20))}","distinct":true,'
        f'"url":"https://api.forge.example/repos/{repo_name(repo)}/commits/{digest}"}}'
    )


def reactions(random: Random) -> str:
    up = skewed(random, 3)
    others = '"-1":0,"laugh":0,"hooray":0,"confused":0,"heart":0,"rocket":0,"eyes":0'
    return f'{{"total_count":{up},"+1":{up},{others}}}'


@lru_cache(maxsize=20_000)
def user_object(user: int) -> str:
    name = login(user)
    links = "".join(
        f'"{link}_url":"https://api.forge.example/users/{name}/{link}",'
        for link in ("followers", "following", "gists", "starred", "subscriptions", "organizations", "repos")
    )
    return (
        f'{{"login":"{name}","id":{user + 1000},"node_id":"U_{user:x}",'
        f'"avatar_url":"https://avatars.forge.example/u/{user}",'
        f'"gravatar_id":"","url":"https://api.forge.example/users/{name}",{links}"type":"User",'
        f'"site_admin":false}}'
    )


REPO_LINKS = [
    *("forks", "keys", "collaborators", "teams", "hooks", "issue_events", "events", "assignees", "branches"),
    *(
        "tags",
        "blobs",
        "git_tags",
        "git_refs",
        "trees",
        "statuses",
        "languages",
        "stargazers",
        "contributors",
    ),
    *("subscribers", "subscription", "commits", "git_commits", "comments", "issue_comment", "contents"),
    *(
        "compare",
        "merges",
        "archive",
        "downloads",
        "issues",
        "pulls",
        "milestones",
        "notifications",
        "labels",
    ),
    *("releases", "deployments"),
]


@lru_cache(maxsize=20_000)
def repo_object(repo: int, owner: int, when: str) -> str:
    name = repo_name(repo)
    links = "".join(f'"{link}_url":"https://api.forge.example/repos/{name}/{link}",' for link in REPO_LINKS)
    language = ("null", '"Python"', '"TypeScript"', '"Rust"', '"Java"')[repo % 5]
    licence = "null" if repo % 3 else '{"key":"mit","name":"MIT License","spdx_id":"MIT","node_id":"L_13"}'
    return (
        f'{{"id":{repo + 10_000_000},"node_id":"R_{repo:x}","name":"{name.partition("/")[2]}",'
        f'"full_name":"{name}",'
        f'"private":false,"owner":{user_object(owner)},"description":null,'
        f'"fork":{json_bool(repo % 9 == 0)},{links}'
        f'"created_at":"{when}","pushed_at":"{when}","homepage":null,"size":{repo % 90_000},'
        f'"stargazers_count":{repo % 700},"watchers_count":{repo % 700},"language":{language},'
        f'"has_issues":true,'
        f'"has_wiki":true,"has_pages":false,"forks_count":{repo % 90},"mirror_url":null,'
        f'"archived":false,"disabled":false,'
        f'"open_issues_count":{repo % 300},"license":{licence},"topics":[],"visibility":"public",'
        f'"default_branch":"main"}}'
    )


def issue(random: Random, actor: int, repo: int, number: int, when: str) -> str:
    base = f"https://api.forge.example/repos/{repo_name(repo)}/issues/{number}"
    label = f'{{"id":{repo % 999},"name":"bug","color":"d73a4a","default":true,"description":null}}'
    return (
        f'{{"url":"{base}","labels_url":"{base}/labels","comments_url":"{base}/comments",'
        f'"events_url":"{base}/events",'
        f'"id":{10**9 + repo},"node_id":"I_{repo:x}","number":{number},"title":"{sentence(random, 7)}",'
        f'"user":{user_object(actor)},'
        f'"labels":[{label if number % 4 == 0 else ""}],"state":"open","locked":false,"assignee":null,'
        f'"assignees":[],'
        f'"milestone":null,"comments":{skewed(random, 40)},"created_at":"{when}","updated_at":"{when}",'
        f'"closed_at":null,'
        f'"author_association":"NONE","active_lock_reason":null,"body":"{sentence(random, 60)}",'
        f'"reactions":{reactions(random)},"performed_via_github_app":null,"state_reason":null}}'
    )


def pull_request(random: Random, actor: int, repo: int, number: int, when: str) -> str:
    base = f"https://api.forge.example/repos/{repo_name(repo)}/pulls/{number}"
    links = ",".join(
        f'"{link}":{{"href":"{base}/{link}"}}'
        for link in ("self", "html", "issue", "comments", "review_comments", "commits", "statuses")
    )
    merged = random.random() < 0.4
    return (
        f'{{"url":"{base}","id":{10**9 + random.randrange(10**9)},'
        f'"node_id":"PR_{random.getrandbits(64):x}","html_url":"{base}",'
        f'"diff_url":"{base}.diff","patch_url":"{base}.patch","number":{number},"state":"open",'
        f'"locked":false,'
        f'"title":"{sentence(random, 7)}","user":{user_object(actor)},"body":"{sentence(random, 50)}",'
        f'"created_at":"{when}",'
        f'"updated_at":"{when}","closed_at":null,"merged_at":{quoted(when) if merged else "null"},'
        f'"merge_commit_sha":{quoted(sha(random)) if merged else "null"},"assignee":null,"assignees":[],'
        f'"requested_reviewers":[],"requested_teams":[],"labels":[],"milestone":null,"draft":false,'
        f'"head":{side(random, actor, repo, "patch-1", when)},'
        f'"base":{side(random, actor, repo, "main", when)},'
        f'"_links":{{{links}}},"author_association":"CONTRIBUTOR","auto_merge":null,'
        f'"active_lock_reason":null,'
        f'"merged":{json_bool(merged)},"mergeable":null,"rebaseable":null,"mergeable_state":"unknown",'
        f'"merged_by":null,'
        f'"comments":{skewed(random, 9)},"review_comments":0,"maintainer_can_modify":true,'
        f'"commits":{1 + skewed(random, 9)},'
        f'"additions":{skewed(random, 4000)},"deletions":{skewed(random, 2000)},'
        f'"changed_files":{1 + skewed(random, 40)}}}'
    )


def side(random: Random, actor: int, repo: int, ref: str, when: str) -> str:
    return (
        f'{{"label":"{login(actor)}:{ref}","ref":"{ref}","sha":"{sha(random)}","user":{user_object(actor)},'
        f'"repo":{repo_object(repo, actor, when)}}}'
    )
