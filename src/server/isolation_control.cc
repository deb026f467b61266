// Lists isolated accounts as JSON, and drops one; takes snapshots and returns to them.
#include "server/isolation_control.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "base/percent_code.h"
#include "base/time_text.h"
#include "management/reply.h"
#include "server/report_json.h"
#include "table/store.h"

namespace stator::server {
namespace {

constexpr int64_t kPage = 1'000;
constexpr int64_t kMostOnPage = 10'000;

std::string SnapshotName(std::string_view query) {
  return management::Parameter(query, "name").value_or("default");
}

std::string Decoded(std::string_view key) { return PercentDecode(key, PlusSign::kPlus); }

std::string RenderSnapshot(const ops::AccountSnapshots::View& view) {
  return fmt::format(R"({{"name":{},"created":"{}","tables":{},"bytes":{},"given_up":{}}})",
                     Quoted(view.name), FormatTime(view.created_micros), view.tables, view.bytes,
                     view.given_up);
}

}  // namespace

Result<std::string> ListIsolatedAccounts(const ops::Environment& environment,
                                         const ops::IsolatedAccounts& accounts,
                                         std::string_view query) {
  ASSIGN_OR_RETURN(const int64_t limit, management::WholeParameter(query, "limit", kPage));
  if (limit < 1 || limit > kMostOnPage)
    return ValidationError(fmt::format("limit must be from 1 to {}: {}", kMostOnPage, limit));
  const std::string after = management::Parameter(query, "after").value_or("");
  const std::vector<ops::IsolatedAccounts::View> views =
      accounts.List(after, static_cast<size_t>(limit));
  std::string list;
  for (const ops::IsolatedAccounts::View& view : views) {
    if (!list.empty()) list.push_back(',');
    list += fmt::format(
        R"({{"account":"{}","key":{},"tables":{},"running":{},"created":"{}","used":"{}"}})",
        view.account, view.key_id.empty() ? std::string("null") : Quoted(view.key_id),
        environment.store.ListOf(view.account).size(), view.running,
        FormatTime(view.created_micros), FormatTime(view.used_micros));
  }
  const ops::IsolatedAccounts::Totals totals = accounts.totals();
  const bool full = views.size() == static_cast<size_t>(limit);
  return fmt::format(
      R"({{"accounts":[{}],"count":{},"most":{},"idle_seconds":{},"dropped":{},"next":{}}})", list,
      totals.accounts, accounts.options().most, accounts.options().idle_micros / 1'000'000,
      totals.dropped, full ? Quoted(views.back().account) : std::string("null"));
}

Result<std::string> DropIsolatedAccount(const ops::Environment& environment,
                                        ops::IsolatedAccounts& accounts, std::string_view key) {
  const std::string account =
      ops::IsolatedAccounts::AccountOfKey(PercentDecode(key, PlusSign::kPlus));
  if (account == environment.settings.account) {
    return ValidationError(fmt::format(
        "{} is the default account, which no call drops: POST /_stator/reset drops all tables",
        account));
  }
  ASSIGN_OR_RETURN(const size_t tables, accounts.Drop(account));
  LogInfo("isolated_account_dropped", {{"account", account}, {"tables", tables}});
  return fmt::format(R"({{"account":"{}","tables":{}}})", account, tables);
}

Result<std::string> TakeSnapshot(ops::AccountSnapshots& snapshots, std::string_view key,
                                 std::string_view query) {
  ASSIGN_OR_RETURN(const ops::AccountSnapshots::View view,
                   snapshots.Take(Decoded(key), SnapshotName(query)));
  return RenderSnapshot(view);
}

Result<std::string> RestoreSnapshot(const ops::Environment& environment,
                                    ops::AccountSnapshots& snapshots, std::string_view key,
                                    std::string_view query) {
  const int64_t began = environment.clock.TicksMicros();
  const std::string name = SnapshotName(query);
  ASSIGN_OR_RETURN(const table::SavedState::Returned returned,
                   snapshots.Return(Decoded(key), name));
  return fmt::format(R"({{"name":{},"tables":{},"definitions":{},"keys":{},"micros":{}}})",
                     Quoted(name), returned.tables, returned.definitions, returned.keys,
                     environment.clock.TicksMicros() - began);
}

Result<std::string> ListSnapshots(const ops::AccountSnapshots& snapshots, std::string_view key) {
  ASSIGN_OR_RETURN(const std::vector<ops::AccountSnapshots::View> views,
                   snapshots.List(Decoded(key)));
  std::string list;
  for (const ops::AccountSnapshots::View& view : views) {
    if (!list.empty()) list.push_back(',');
    list += RenderSnapshot(view);
  }
  const ops::AccountSnapshots::Totals totals = snapshots.totals();
  return fmt::format(
      R"({{"snapshots":[{}],"most":{},"of_all_accounts":{},"bytes":{},"most_bytes":{}}})", list,
      snapshots.options().most_of_account, totals.snapshots, totals.bytes,
      snapshots.options().most_bytes);
}

Result<std::string> ForgetSnapshot(ops::AccountSnapshots& snapshots, std::string_view key,
                                   std::string_view query) {
  const std::string name = SnapshotName(query);
  TRY(snapshots.Forget(Decoded(key), name));
  return fmt::format(R"({{"name":{}}})", Quoted(name));
}

}  // namespace stator::server
