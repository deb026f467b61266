#include "server/management_access.h"

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>

#include "guard/check.h"
#include "server/audited_exchange.h"
#include "server/guarded_request.h"
#include "server/past_control.h"
#include "server/report_json.h"
#include "server/table_path.h"

namespace stator::server {
namespace {

struct Call {
  std::string_view method;
  std::string_view path;  // behind /_stator, or behind /_stator/tables/NAME
  std::string_view action;
  bool of_table = false;
};
constexpr Call kCalls[] = {
    {"GET", "/", "stator:GetStatus"},
    {"GET", "/console/boot", "stator:GetStatus"},
    {"POST", "/simulate", "stator:GetStatus"},
    {"GET", "/status", "stator:GetStatus"},
    // Both show the hottest keys of any table.
    {"GET", "/pulse", "stator:GetPartitions"},
    {"GET", "/events", "stator:GetPartitions"},
    {"GET", "/requests", "stator:GetKeyInsights"},
    {"GET", "/triggers", "stator:GetTriggers"},
    {"GET", "/recording", "stator:GetAdvice"},
    {"PUT", "/recording", "stator:PutRecording"},
    {"DELETE", "/recording", "stator:DeleteRecording"},
    {"GET", "/advice", "stator:GetAdvice"},
    {"GET", "/series", "stator:GetMetrics"},
    {"GET", "/cluster", "stator:GetCluster"},
    {"POST", "/backup", "stator:BackupStore"},
    {"GET", "/backup", "stator:GetStoreBackup"},
    {"GET", "/backup/list", "stator:GetStoreBackup"},
    {"POST", "/access/why", "stator:WhyAccess"},
    {"GET", "/accounts", "stator:GetStatus"},
    {"DELETE", "/accounts", "stator:DeleteAccount"},
    // Items that were written since go, as with a reset.
    {"POST", "/snapshot", "stator:Reset"},
    {"POST", "/restore", "stator:Reset"},
    {"GET", "/snapshots", "stator:GetStatus"},
    {"DELETE", "/snapshots", "stator:Reset"},
    {"POST", "/reset", "stator:Reset"},
    {"GET", "/clock", "stator:GetClock"},
    {"POST", "/clock", "stator:SetClock"},
    {"GET", "/throttling", "stator:GetThrottling"},
    {"PUT", "/throttling", "stator:PutThrottling"},
    {"GET", "/faults", "stator:GetFaults"},
    {"PUT", "/faults", "stator:PutFaults"},
    {"DELETE", "/faults", "stator:DeleteFaults"},
    {"POST", "/split", "stator:SplitPartition", true},
    {"GET", "/partitions", "stator:GetPartitions", true},
    {"POST", "/place", "stator:GetPartitions", true},
    {"GET", "/throttling", "stator:GetThrottling", true},
    {"PUT", "/throttling", "stator:PutThrottling", true},
    {"DELETE", "/throttling", "stator:DeleteThrottling", true},
    {"GET", "/auto-scaling", "stator:GetAutoScaling", true},
    {"PUT", "/auto-scaling", "stator:PutAutoScaling", true},
    {"DELETE", "/auto-scaling", "stator:DeleteAutoScaling", true},
    {"GET", "/heat", "stator:GetHeat", true},
    {"GET", "/heat.svg", "stator:GetPartitions", true},  // names hot keys, /heat does not
    {"GET", "/heat/keys", "stator:GetKeyInsights", true},
    {"GET", "/cost", "stator:GetHeat", true},
    {"GET", "/contributor-insights", "stator:GetKeyInsights", true},
    {"POST", "/past/at", "stator:ReadPast", true},
    {"POST", "/past/difference", "stator:ReadHistory", true},
    {"POST", "/past/history", "stator:ReadHistory", true},
    {"POST", "/past/undo", "stator:Undo", true},
    {"POST", "/past/forget", "stator:Forget", true},
};
constexpr std::string_view kManagement = "/_stator";
constexpr std::string_view kFaults = "/faults/";
constexpr std::string_view kAccounts = "/accounts/";
constexpr std::string_view kPast = "/past/";

// Paths and bodies of these calls name tables of the default account.
constexpr const char* kOfDefaultAccount =
    "Management calls, metrics and the console are the default account's: a key of another account "
    "may not make them.";

struct Named {
  std::string_view action;     // empty: none
  std::string_view table;      // empty: the call is about no table
  std::string_view past = {};  // what is asked of the table's past (past_control.h); empty: nothing
};

Named NameOf(std::string_view method, std::string_view path) {
  if (path == "/metrics") return {"stator:GetMetrics", {}};
  if (!path.starts_with(kManagement)) return {};
  const std::string_view rest = path.substr(kManagement.size());
  // The faults of a table stand the other way round.
  if (rest.starts_with(kFaults)) {
    Named named = NameOf(method, "/_stator/faults");
    named.table = rest.substr(kFaults.size());
    return named;
  }
  if (rest.starts_with(kAccounts)) {
    const size_t behind = rest.find('/', kAccounts.size());
    if (behind == std::string_view::npos) return NameOf(method, "/_stator/accounts");
    if (rest.find('/', behind + 1) != std::string_view::npos) return {};
    return NameOf(method, std::string(kManagement).append(rest.substr(behind)));
  }
  for (const Call& call : kCalls) {
    if (call.method != method) continue;
    if (!call.of_table && call.path == rest) return {call.action, {}};
    if (!call.of_table) continue;
    if (const auto table = TableIn(path, call.path)) {
      const bool past = call.path.starts_with(kPast);
      return {call.action, *table, past ? call.path.substr(kPast.size()) : std::string_view()};
    }
  }
  return {};
}

bool ReadsOnly(std::string_view action) {
  return action.starts_with("stator:Get") || action.starts_with("stator:Read") ||
         action.starts_with("stator:Why");
}

Status Require(guard::Check& check, const Named& named, std::string_view body) {
  if (named.action.empty()) return check.DenyUnknown("stator:UnknownCall", "*");
  if (!named.past.empty()) return RequirePast(check, named.past, named.action, named.table, body);
  return check.Require(guard::ActionNamed(named.action),
                       named.table.empty() ? "*" : check.ArnOf(named.table));
}

http::Reply Refusal(const Error& error) {
  http::Reply reply;
  reply.status = 403;
  reply.headers.emplace_back("Content-Type", "application/json");
  reply.body = fmt::format(R"({{"message":{}}})", Quoted(error.message()));
  return reply;
}

}  // namespace

std::optional<http::Reply> RefuseManagement(guard::Gate& gate, const ops::Environment& environment,
                                            audit::Trail* audit,
                                            std::unique_ptr<http::Exchange>* exchange) {
  const http::Request& request = (*exchange)->request();
  const std::string_view path = request.target.substr(0, request.target.find('?'));
  if (path.starts_with("/health/")) return std::nullopt;
  const std::vector<access::HeaderLine> lines = LinesOf(request);
  const access::HttpRequestView http{request.method, request.target, lines, request.body};
  const Named named = NameOf(request.method, path);
  AuditedExchange* audited = nullptr;
  if (audit != nullptr && !named.action.empty()) {
    auto wrapped = std::make_unique<AuditedExchange>(*audit, std::move(*exchange), named.action,
                                                     !ReadsOnly(named.action));
    audited = wrapped.get();
    *exchange = std::move(wrapped);
  }
  Result<access::VerifiedRequest> verified = gate.Verify(http, "stator");
  if (!verified.ok()) {
    if (audited != nullptr) audited->record().error_code = "InvalidSignatureException";
    return Refusal(verified.error());
  }
  const ExchangePeer peer(**exchange);
  guard::Check check(gate, *std::move(verified), environment,
                     named.action.empty() ? path : named.action, http, &peer);
  if (audited != nullptr) check.TellOf(&audited->record().judgements);
  const Status allowed = check.other_account().empty()
                             ? Require(check, named, request.body)
                             : Status(Error(ErrorCode::kAccessDenied, kOfDefaultAccount));
  if (audited != nullptr) {
    audit::Record& record = audited->record();
    if (check.caller() != nullptr) record.caller = check.verified().credential->caller;
    record.key_id = check.caller() != nullptr ? check.verified().key_id
                                              : audit::ShownKeyId(guard::ClaimedKey(http));
    record.enforced = gate.enforces() || !check.denial();
    if (!named.table.empty()) record.resources.push_back(check.ArnOf(named.table));
    if (!allowed.ok()) {
      record.error_code = "AccessDeniedException";
      record.error_message = allowed.error().message();
    } else if (const Status may = audited->Permit(); !may.ok()) {
      http::Reply reply = Refusal(may.error());
      reply.status = 503;
      return reply;
    }
  }
  if (allowed.ok()) return std::nullopt;
  return Refusal(allowed.error());
}

}  // namespace stator::server
