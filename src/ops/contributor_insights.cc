#include "ops/contributor_insights.h"

#include <algorithm>

#include "base/base64.h"
#include "ops/checks.h"
#include "ops/operations.h"
#include "ops/table_status.h"

namespace stator::ops {
namespace {

using State = table::IndexDescriptor::State;
using table::ContributorInsights;

constexpr int64_t kMostSummaries = 100;
constexpr size_t kRuleNameBytes = 128;  // what CloudWatch allows

Error IndexNotFound(std::string_view table_name, std::string_view index_name) {
  return Error(ErrorCode::kResourceNotFound,
               "Requested resource not found: Table: " + std::string(table::ShownName(table_name)) +
                   " Index: " + std::string(index_name) + " not found");
}

// The insights of a table, or of its index if one is named, and whether it has sort keys.
struct Subject {
  const std::optional<ContributorInsights>* insights = nullptr;
  bool has_sort_key = false;
};
Result<Subject> Find(const table::TableDescriptor& descriptor,
                     const std::optional<std::string>& index_name) {
  if (!index_name) return Subject{&descriptor.insights, descriptor.key_schema.sort.has_value()};
  for (const table::IndexDescriptor& index : descriptor.indexes) {
    // A local index shares the table's partitions, and so its insights.
    if (index.name == *index_name && index.is_global() && index.state != State::kDeleting)
      return Subject{&index.insights, !index.key.sort.empty()};
  }
  return IndexNotFound(descriptor.name, *index_name);
}

std::optional<ContributorInsights>* InsightsOf(table::TableDescriptor* descriptor,
                                               const std::optional<std::string>& index_name) {
  if (!index_name) return &descriptor->insights;
  return &std::ranges::find(descriptor->indexes, *index_name, &table::IndexDescriptor::name)
              ->insights;
}

ContributorInsightsSummary Summarize(const table::TableDescriptor& descriptor,
                                     const std::optional<std::string>& index_name,
                                     const std::optional<ContributorInsights>& insights,
                                     const Environment& env) {
  ContributorInsightsSummary summary;
  summary.table_name = table::ShownName(descriptor.name);
  summary.index_name = index_name;
  summary.status = StatusOf(insights, env);
  if (insights && insights->enabled)
    summary.mode = static_cast<ContributorInsightsMode>(insights->mode);
  return summary;
}

// Milliseconds, as the service's are; above those of the table's other rules.
int64_t NextRuleId(const table::TableDescriptor& descriptor, int64_t now_micros) {
  int64_t id = now_micros / 1000;
  const auto pass = [&id](const std::optional<ContributorInsights>& other) {
    if (other) id = std::max(id, other->rule_id + 1);
  };
  pass(descriptor.insights);
  for (const table::IndexDescriptor& index : descriptor.indexes) pass(index.insights);
  return id;
}

// Applies the request. Returns whether anything changed: a request for the present state is not an
// error.
bool Change(const UpdateContributorInsightsRequest& request, int64_t now, int64_t rule_id,
            std::optional<ContributorInsights>* insights) {
  const bool enable = request.contributor_insights_action == ContributorInsightsAction::kEnable;
  const bool was_enabled = *insights && (*insights)->enabled;
  using Mode = ContributorInsights::Mode;
  Mode mode = was_enabled ? (*insights)->mode : Mode::kAccessedAndThrottledKeys;
  const bool same_mode = !request.contributor_insights_mode ||
                         static_cast<Mode>(*request.contributor_insights_mode) == mode;
  if (enable == was_enabled && (!enable || same_mode)) return false;
  if (!*insights) insights->emplace();
  ContributorInsights& d = **insights;
  d.enabled = enable;
  d.changed_micros = now;
  if (!enable) return true;
  if (!same_mode) mode = static_cast<Mode>(*request.contributor_insights_mode);
  d.mode = mode;
  d.rule_id = rule_id;
  return true;
}

// Where a page of ListContributorInsights ended: the table, and after a 0 the index.
using Place = std::pair<std::string, std::string>;

// base64(seal for "contributor-insights", then table 00 index): base/seal.h.
constexpr std::string_view kPurpose = "contributor-insights";

std::string TokenOf(const Seal& seal, const Place& place) {
  const std::string text = place.first + '\0' + place.second;
  const std::string bytes = seal.Of(kPurpose, text) + text;
  std::string token(Base64Length(bytes.size()), '\0');
  EncodeBase64(bytes, token.data());
  return token;
}

Result<Place> PlaceOf(const Seal& seal, const std::string& token) {
  const Error invalid = ValidationError("Invalid NextToken");
  std::string bytes;
  if (!DecodeBase64(token, &bytes).ok() || bytes.size() < Seal::kBytes) return invalid;
  const std::string text = bytes.substr(Seal::kBytes);
  const size_t cut = text.find('\0');
  if (cut == std::string::npos ||
      !seal.Holds(kPurpose, text, std::string_view(bytes).substr(0, Seal::kBytes))) {
    return invalid;
  }
  return Place(text.substr(0, cut), text.substr(cut + 1));
}

// Appends the summaries of a table and of its indexes, in the order of their names; only of those
// for which it was ever enabled.
void AppendSummaries(const table::TableDescriptor& descriptor, const Environment& env,
                     std::vector<ContributorInsightsSummary>* summaries) {
  if (descriptor.insights)
    summaries->push_back(Summarize(descriptor, {}, descriptor.insights, env));
  std::vector<const table::IndexDescriptor*> indexes;
  for (const table::IndexDescriptor& index : descriptor.indexes) {
    if (index.insights && index.state != State::kDeleting) indexes.push_back(&index);
  }
  std::ranges::sort(indexes, {}, &table::IndexDescriptor::name);
  for (const table::IndexDescriptor* index : indexes)
    summaries->push_back(Summarize(descriptor, index->name, index->insights, env));
}

}  // namespace

ContributorInsightsStatus StatusOf(const std::optional<ContributorInsights>& insights,
                                   const Environment& env) {
  if (!insights) return ContributorInsightsStatus::kDisabled;
  const bool changing = env.settings.delay_transient_statuses &&
                        env.clock.NowMicros() < insights->changed_micros + kTransientStatusMicros;
  if (insights->enabled) {
    return changing ? ContributorInsightsStatus::kEnabling : ContributorInsightsStatus::kEnabled;
  }
  return changing ? ContributorInsightsStatus::kDisabling : ContributorInsightsStatus::kDisabled;
}

std::vector<ContributorRule> RulesOf(const table::TableDescriptor& table,
                                     const ContributorInsights& insights, bool has_sort_key) {
  std::vector<ContributorRule> rules;
  if (!insights.enabled) return rules;
  const std::string end = "-" + std::to_string(insights.rule_id);
  for (const bool throttled : {false, true}) {
    if (!throttled && insights.mode == ContributorInsights::Mode::kThrottledKeys) continue;
    for (const bool sort_keys : {false, true}) {
      if (sort_keys && !has_sort_key) continue;
      std::string name = "DynamoDBContributorInsights-";
      name += sort_keys ? "SK" : "PK";
      name += throttled ? "T-" : "C-";
      name += table::ShownName(table.name).substr(0, kRuleNameBytes - name.size() - end.size());
      rules.push_back({name + end, throttled, sort_keys});
    }
  }
  return rules;
}

void UpdateContributorInsights(Context& ctx, UpdateContributorInsightsRequest request,
                               Callback<UpdateContributorInsightsResponse> done) {
  const Result<table::TablePtr> table =
      FindTableOfAnyStatus(ctx, request.table_name, ErrorCode::kResourceNotFound);
  if (!table.ok()) {
    done(table.error());
    return;
  }
  Environment& env = ctx.env;
  Executor& loop = ctx.loop;
  auto shared = std::make_shared<UpdateContributorInsightsRequest>(std::move(request));
  auto changed = std::make_shared<bool>(false);
  env.store.Alter((*table)->descriptor.name,
                  [&env, shared, changed](table::TableDescriptor* descriptor) -> Status {
                    TRY(Find(*descriptor, shared->index_name));
                    const int64_t now = env.clock.NowMicros();
                    *changed = Change(*shared, now, NextRuleId(*descriptor, now),
                                      InsightsOf(descriptor, shared->index_name));
                    return OkStatus();
                  },
                  [&env, &loop, shared, changed,
                   done = std::move(done)](Result<table::TablePtr> table) mutable {
                    RunOn(loop, [&env, shared, changed, table = std::move(table),
                                 done = std::move(done)]() mutable {
                      if (!table.ok()) return done(std::move(table).error());
                      const table::TableDescriptor& descriptor = (*table)->descriptor;
                      const Result<Subject> subject = Find(descriptor, shared->index_name);
                      if (!subject.ok()) return done(subject.error());
                      ContributorInsightsSummary summary =
                          Summarize(descriptor, shared->index_name, *subject->insights, env);
                      // The service answers before it has done it.
                      if (*changed) {
                        summary.status = (*subject->insights)->enabled
                                             ? ContributorInsightsStatus::kEnabling
                                             : ContributorInsightsStatus::kDisabling;
                      }
                      done(UpdateContributorInsightsResponse{std::move(summary)});
                    });
                  });
}

void DescribeContributorInsights(Context& ctx, DescribeContributorInsightsRequest request,
                                 Callback<DescribeContributorInsightsResponse> done) {
  const Result<table::TablePtr> table =
      FindTableOfAnyStatus(ctx, request.table_name, ErrorCode::kResourceNotFound);
  if (!table.ok()) return done(table.error());
  const table::TableDescriptor& descriptor = (*table)->descriptor;
  const Result<Subject> subject = Find(descriptor, request.index_name);
  if (!subject.ok()) return done(subject.error());
  const std::optional<ContributorInsights>& insights = *subject->insights;
  DescribeContributorInsightsResponse response;
  response.summary = Summarize(descriptor, request.index_name, insights, ctx.env);
  if (insights) {
    for (ContributorRule& rule : RulesOf(descriptor, *insights, subject->has_sort_key))
      response.rules.push_back(std::move(rule.name));
    response.last_update_date_time = static_cast<double>(insights->changed_micros / 1000) / 1000.0;
  }
  done(std::move(response));
}

void ListContributorInsights(Context& ctx, ListContributorInsightsRequest request,
                             Callback<ListContributorInsightsResponse> done) {
  const int64_t limit = request.max_results.value_or(kMostSummaries);
  if (limit < 1) {
    return done(ValidationError(
        "One or more parameter values were invalid: MaxResults must be greater than 0"));
  }
  std::optional<Place> after;
  if (request.next_token) {
    Result<Place> place = PlaceOf(ctx.env.seal, *request.next_token);
    if (!place.ok()) return done(std::move(place).error());
    after = *std::move(place);
  }
  std::vector<table::TablePtr> tables;
  if (request.table_name) {
    // The policy of another account's table cannot allow this action, because the action has no
    // resource.
    if (AccountOf(ctx, *request.table_name) != ctx.account)
      return done(Error(ErrorCode::kAccessDenied, "Access is denied"));
    Result<table::TablePtr> table =
        FindTableOfAnyStatus(ctx, *request.table_name, ErrorCode::kResourceNotFound);
    if (!table.ok()) return done(std::move(table).error());
    tables.push_back(*std::move(table));
  } else {
    // Each table has a summary; the last one of the first table may end the page before.
    tables = ctx.env.store.ListWithInsights(ctx.account, after ? after->first : std::string_view(),
                                            static_cast<size_t>(limit) + 2);
  }
  ListContributorInsightsResponse response;
  for (const table::TablePtr& table : tables) {
    std::vector<ContributorInsightsSummary> summaries;
    AppendSummaries(table->descriptor, ctx.env, &summaries);
    for (ContributorInsightsSummary& summary : summaries) {
      if (after && Place(summary.table_name, summary.index_name.value_or("")) <= *after) continue;
      if (response.summaries.size() == static_cast<size_t>(limit)) {
        const ContributorInsightsSummary& last = response.summaries.back();
        response.next_token =
            TokenOf(ctx.env.seal, {last.table_name, last.index_name.value_or("")});
        return done(std::move(response));
      }
      response.summaries.push_back(std::move(summary));
    }
  }
  done(std::move(response));
}

}  // namespace stator::ops
