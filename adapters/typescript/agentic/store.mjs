/**
 * A store in memory and the operations of section 8.
 *
 * @import { Clock, ContextPackage, FactQuestion, Json, JsonObject, Reviewer, Status, StoredPackage } from "../types.js"
 */
import { contentHash } from "./canonical.mjs";
import { object } from "./json.mjs";
import {
  DUPLICATE_PACKAGE_ID,
  HASH_MISMATCH,
  INVALID_SCHEMA,
  INVALID_TRANSITION,
  PACKAGE_NOT_FOUND,
  Refusal,
} from "./refusal.mjs";
import { readAssertion, readPackage, STATUSES } from "./schema.mjs";
import { rank, textOf } from "./search.mjs";
import { Sessions } from "./sessions.mjs";
import { certain, clock, DAY } from "./time.mjs";
import { Timeline } from "./timeline.mjs";

/** Section 5.3. @type {ReadonlyMap<string, readonly string[]>} */
const MOVES = new Map([
  ["draft", ["complete", "awaiting_review"]],
  ["awaiting_review", ["complete", "revision_requested"]],
  ["revision_requested", ["awaiting_review", "complete"]],
  ["complete", []],
]);

const DEFAULT_LIMIT = 5; // section 8.2
const DEFAULT_WINDOW = 14; // section 8.3
const MOST = 200;

/**
 * @param {string} from
 * @param {string} to
 */
export const mayMove = (from, to) => MOVES.get(from)?.includes(to) ?? false;

/** The contents of one project (section 5.2). */
class Project {
  /**
   * @param {JsonObject} record
   * @param {Clock} time
   */
  constructor(record, time) {
    this.record = record;
    /** @type {string[]} */
    this.packageIds = [];
    this.facts = new Timeline(time);
    this.sessions = new Sessions();
  }
}

export class Store {
  /** @param {string | null} now */
  constructor(now) {
    this.clock = clock(now);
    /** @type {Map<string, Project>} */
    this.projects = new Map();
    /** One id is one package, whatever the project (E22). @type {Map<string, StoredPackage>} */
    this.packages = new Map();
  }

  // --- projects (section 5.2, E33) ---------------------------------------------------------------------------------------

  /**
   * The project, created if missing: writes need no preparation.
   *
   * @param {string} projectId
   * @param {Iterable<[string, Json]>} [members]
   */
  ensureProject(projectId, members = []) {
    let project = this.projects.get(projectId);
    if (project === undefined) {
      const record = object({ project_id: projectId, name: projectId, created_at: this.clock.now(), archived_at: null });
      project = new Project(new Map([...record, ...members, ["project_id", projectId]]), this.clock);
      this.projects.set(projectId, project);
    }
    return project;
  }

  /** @param {string} projectId */
  archive(projectId) {
    const { record } = this.ensureProject(projectId);
    const since = record.get("archived_at") ?? this.clock.now();
    record.set("archived_at", since);
    return since;
  }

  /** @param {string} projectId */
  restore(projectId) {
    this.ensureProject(projectId).record.set("archived_at", null);
  }

  // --- deposit (section 8.1) ----------------------------------------------------------------------------------------------

  /**
   * Archived projects accept packages like any other (E36).
   *
   * @param {string} projectId
   * @param {Json} value
   */
  deposit(projectId, value) {
    const content = readPackage(value);
    if (content.projectId !== projectId) {
      throw new Refusal(INVALID_SCHEMA, "the package names another project", "/project_id"); // E35
    }
    const known = this.packages.get(content.packageId);
    if (known === undefined) {
      const stored = this.add(content);
      this.ensureProject(projectId).sessions.note(content);
      return { stored, created: true };
    }
    this.refuseOther(known, content);
    return { stored: this.intact(content.packageId), created: false };
  }

  /**
   * The same id with other content is an error, with the same content a repetition (section 11.2).
   *
   * @param {StoredPackage} known
   * @param {ContextPackage} content
   */
  refuseOther(known, { members, packageId }) {
    const hash = contentHash(members);
    if (hash !== known.depositedHash && hash !== known.hash) {
      throw new Refusal(DUPLICATE_PACKAGE_ID, `${packageId} belongs to other content`, "/package_id");
    }
  }

  /** @param {ContextPackage} content */
  add(content) {
    const hash = contentHash(content.members);
    /** @type {StoredPackage} */
    const stored = { content, hash, depositedHash: hash };
    this.packages.set(content.packageId, stored);
    this.ensureProject(content.projectId).packageIds.push(content.packageId);
    return stored;
  }

  // --- pull (section 8.2) ---------------------------------------------------------------------------------------------------

  /**
   * A package that matches its hash (section 6.6).
   *
   * @param {string} packageId
   */
  intact(packageId) {
    const stored = this.packages.get(packageId);
    if (stored === undefined) throw new Refusal(PACKAGE_NOT_FOUND, `unknown package ${packageId}`);
    if (contentHash(stored.content.members) !== stored.hash) {
      throw new Refusal(HASH_MISMATCH, `${packageId} does not match its hash`);
    }
    return stored;
  }

  /**
   * Packages of a project, newest first. Altered packages are reported to the operator and left out.
   *
   * @param {string} projectId
   * @returns {ContextPackage[]}
   */
  newest(projectId) {
    const found = (this.projects.get(projectId)?.packageIds ?? []).flatMap((packageId) => {
      try {
        return [this.intact(packageId).content];
      } catch (error) {
        console.error(String(error));
        return [];
      }
    });
    return found.sort((one, other) => Number(one.createdAt < other.createdAt) - Number(one.createdAt > other.createdAt));
  }

  /**
   * @param {string} projectId
   * @param {number} [limit]
   */
  latest(projectId, limit = DEFAULT_LIMIT) {
    return this.newest(projectId).slice(0, atMost(limit));
  }

  /**
   * @param {string} projectId
   * @param {string} query
   * @param {number} [limit]
   */
  relevant(projectId, query, limit = DEFAULT_LIMIT) {
    const matches = rank(this.newest(projectId), query);
    return matches.slice(0, atMost(limit)).map(({ content }) => content);
  }

  // --- orient and orchestrate (sections 8.3 and 8.4) ----------------------------------------------------------------------------

  /**
   * @param {string} projectId
   * @param {number} days
   */
  recent(projectId, days) {
    const earliest = certain(this.clock.now()) - BigInt(days) * DAY;
    return this.newest(projectId).filter((content) => content.createdAt >= earliest);
  }

  /**
   * @param {string} projectId
   * @param {number} [windowDays]
   */
  orient(projectId, windowDays = DEFAULT_WINDOW) {
    const days = Math.max(windowDays, 1);
    const project = this.projects.get(projectId);
    const recent = this.recent(projectId, days).slice(0, MOST);
    return object({
      project: project?.record ?? object({ project_id: projectId }),
      recent_packages: recent.map((content) => content.members),
      active_facts: project?.facts.current().map((fact) => fact.members) ?? [],
      open_questions: questions(recent),
      window_days: days,
      generated_at: this.clock.now(),
    });
  }

  /**
   * A digest of one project, or of all, without drafts (section 5.3).
   *
   * @param {string} [only]
   * @param {string} [focus]
   * @param {number} [snippets]
   */
  orchestrate(only, focus = "", snippets = 8) {
    const ids = only === undefined ? Array.from(this.projects.keys()) : [only];
    const perProject = ids.map((id) => this.recent(id, DEFAULT_WINDOW).filter(({ status }) => status !== "draft"));
    const recent = perProject.flat();
    const near = focus === "" ? recent.map((content) => ({ content, score: 0 })) : rank(recent, focus);
    return object({
      window_days: DEFAULT_WINDOW,
      generated_at: this.clock.now(),
      summary: recent.map(({ packageId, title }) => `${title} (${packageId})`).join("\n"),
      active_facts: ids.flatMap((id) => this.projects.get(id)?.facts.current().map((fact) => fact.members) ?? []),
      open_questions: questions(recent),
      snippets: near.slice(0, Math.max(snippets, 0)).map(({ content, score }) =>
        object({ package_id: content.packageId, score, text: textOf(content).slice(0, 500).toWellFormed() }),
      ),
      project_counts: new Map(ids.map((id, index) => [id, perProject[index]?.length ?? 0])),
    });
  }

  // --- review (sections 5.3, 8.5 and 11.4) --------------------------------------------------------------------------------------

  /**
   * @param {string} packageId
   * @param {unknown} reviewType
   */
  flag(packageId, reviewType) {
    const stored = this.intact(packageId);
    if (reviewType !== "human" && reviewType !== "agent") {
      throw new Refusal(INVALID_SCHEMA, "review_type must be human or agent", "/review_type");
    }
    // The reviewer may change while the package waits (E15).
    if (stored.content.status === "awaiting_review") return this.rewrite(stored, "awaiting_review", reviewType);
    return this.move(stored, "awaiting_review", reviewType);
  }

  /**
   * @param {string} packageId
   * @param {unknown} status
   */
  transition(packageId, status) {
    const stored = this.intact(packageId);
    const known = STATUSES.find((name) => name === status);
    if (known === undefined) throw new Refusal(INVALID_SCHEMA, `status must be one of ${STATUSES.join(", ")}`, "/status");
    return this.move(stored, known);
  }

  /**
   * @param {StoredPackage} stored
   * @param {Status} status
   * @param {Reviewer} [reviewer]
   */
  move(stored, status, reviewer) {
    const old = stored.content.status;
    if (!mayMove(old, status)) throw new Refusal(INVALID_TRANSITION, `a package that is ${old} cannot become ${status}`);
    return this.rewrite(stored, status, reviewer);
  }

  /**
   * Only status and review type ever change (E10), and the hash with them (E11).
   *
   * @param {StoredPackage} stored
   * @param {Status} status
   * @param {Reviewer} [reviewer]
   */
  rewrite(stored, status, reviewer) {
    const members = new Map(stored.content.members).set("status", status);
    if (reviewer !== undefined) members.set("review_type", reviewer);
    stored.content = readPackage(members);
    stored.hash = contentHash(members);
    return stored;
  }

  /** @param {string} projectId */
  awaitingReview(projectId) {
    return this.newest(projectId).filter(({ status }) => status === "awaiting_review");
  }

  // --- facts (sections 7, 8.6 and 8.7) --------------------------------------------------------------------------------------------

  /** @param {Json} value */
  assertFact(value) {
    const assertion = readAssertion(value);
    const source = assertion.sourcePackageId;
    const author = source !== null && this.packages.has(source) ? this.intact(source).content.members.get("created_by") : undefined;
    return this.ensureProject(assertion.projectId).facts.assert(assertion, author);
  }

  /**
   * @param {string} projectId
   * @param {string} subject
   * @param {string} predicate
   * @param {string} [value]
   */
  invalidateFact(projectId, subject, predicate, value) {
    return this.projects.get(projectId)?.facts.invalidate(subject, predicate, value) ?? 0;
  }

  /**
   * @param {string} projectId
   * @param {FactQuestion} question
   */
  queryFacts(projectId, question) {
    return this.projects.get(projectId)?.facts.query(question) ?? [];
  }

  /** @param {string} projectId */
  sessionsOf(projectId) {
    return this.projects.get(projectId)?.sessions.all() ?? [];
  }

  /**
   * For tests: simulates a disk fault.
   *
   * @param {string} packageId
   * @param {Json} value
   */
  tamper(packageId, value) {
    const stored = this.intact(packageId);
    stored.content = { ...stored.content, members: /** @type {JsonObject} */ (value) };
  }
}

/** @param {number} limit */
const atMost = (limit) => Math.min(Math.max(limit, 1), MOST);

/** @param {readonly ContextPackage[]} packages */
const questions = (packages) =>
  packages.flatMap(({ openQuestions, packageId }) =>
    openQuestions.map((question) => object({ question, package_id: packageId })),
  );
