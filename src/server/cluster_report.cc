#include "server/cluster_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <thread>

#include "base/time_text.h"
#include "fleet/shared_settings.h"
#include "kv_rados/rados_engine.h"
#include "server/report_json.h"
#include "table/catalog_snapshot.h"

namespace stator::server {
namespace {

std::string_view SpaceName(kv::Space space) {
  switch (space) {
    case kv::Space::kCatalog: return "catalog";
    case kv::Space::kItems: return "items";
    case kv::Space::kLog: return "log";
  }
  return "";
}

std::string TabletName(kv::Tablet tablet) { return fmt::format("{}/{}", SpaceName(tablet.space), tablet.id); }

double Seconds(int64_t micros) { return static_cast<double>(std::max<int64_t>(micros, 0)) / 1e6; }

Status Measure(kv_tx::TransactionEngine& engine, ClusterReport::Tablet* tablet) {
  kv::Engine& inner = engine.inner();
  Result<std::vector<kv_rados::PartReport>> parts = kv_rados::ReportParts(inner, tablet->named.tablet);
  if (parts.ok()) {
    tablet->parts = parts->size();
    for (const kv_rados::PartReport& part : *parts) {
      tablet->bytes += part.bytes;
      tablet->keys += part.keys;
    }
  } else if (parts.error().code() == ErrorCode::kInternal) {  // another engine, of a test
    tablet->bytes = inner.ApproximateBytes(tablet->named.tablet);
    tablet->parts = tablet->bytes > 0 ? 1 : 0;
  } else {
    return std::move(parts).error();
  }
  if (tablet->parts == 0) return OkStatus();
  ASSIGN_OR_RETURN(tablet->unfinished, kv_tx::CountUnfinished(inner, tablet->named.tablet));
  return OkStatus();
}

std::string StateOf(const fleet::Member& member) { return member.alive ? "alive" : "dead"; }

}  // namespace

uint64_t ClusterReport::unfinished() const {
  uint64_t units = 0;
  for (const Tablet& tablet : tablets) units += tablet.unfinished.units;
  return units;
}

double ClusterReport::oldest_seconds() const {
  int64_t oldest = at_micros;
  for (const Tablet& tablet : tablets) {
    if (tablet.unfinished.units > 0) oldest = std::min(oldest, tablet.unfinished.oldest_micros);
  }
  return Seconds(at_micros - oldest);
}

Result<ClusterReport> MakeClusterReport(kv_tx::TransactionEngine& engine, const fleet::Roll& roll, int64_t now_micros) {
  ClusterReport report;
  report.at_micros = now_micros;
  std::map<std::string, int> held;
  for (const auto& [name, entry] : roll.leases) {
    report.leases[name] = entry.lease.owner;
    ++held[entry.lease.owner];
  }
  for (const auto& [id, member] : roll.members) report.processes.push_back({member, held[id]});
  ASSIGN_OR_RETURN(report.settings, fleet::ReadSettings(engine));
  ASSIGN_OR_RETURN(const table::CatalogSnapshot catalog, table::ReadCatalog(engine));
  for (NamedTablet& named : TabletsOf(catalog)) {
    ClusterReport::Tablet& tablet = report.tablets.emplace_back();
    tablet.named = std::move(named);
    if (Status measured = Measure(engine, &tablet); !measured.ok()) tablet.error = measured.error().message();
  }
  return report;
}

std::string RenderJson(const ClusterReport& report) {
  std::string processes, leases, settings, tablets;
  const auto comma = [](const std::string& list) { return list.empty() ? "" : ","; };
  for (const auto& [member, held] : report.processes) {
    processes += fmt::format(
        R"({}{{"id":{},"endpoint":{},"version":{},"clock":{},"state":"{}","started":"{}","beat":{},"beatSecondsAgo":{:.1f},"leases":{}}})",
        comma(processes), Quoted(member.id), Quoted(member.beat.endpoint), Quoted(member.beat.version), Quoted(member.beat.clock),
        StateOf(member), FormatTime(member.beat.started_micros), member.beat.sequence,
        Seconds(report.at_micros - member.beat.at_micros), held);
  }
  for (const auto& [name, owner] : report.leases) leases += fmt::format("{}{}:{}", comma(leases), Quoted(name), Quoted(owner));
  for (const auto& [name, text] : report.settings) settings += fmt::format("{}{}:{}", comma(settings), Quoted(name), Quoted(text));
  for (const ClusterReport::Tablet& tablet : report.tablets) {
    tablets += fmt::format(R"({}{{"tablet":"{}","purpose":{},)", comma(tablets), TabletName(tablet.named.tablet),
                           Quoted(tablet.named.purpose));
    if (!tablet.error.empty()) {
      tablets += fmt::format(R"("error":{}}})", Quoted(tablet.error));
      continue;
    }
    tablets += fmt::format(R"("parts":{},"keys":{},"bytes":{},"unfinished":{},"oldestUnfinishedSeconds":{:.1f}}})", tablet.parts,
                           tablet.keys, tablet.bytes, tablet.unfinished.units,
                           tablet.unfinished.units == 0 ? 0 : Seconds(report.at_micros - tablet.unfinished.oldest_micros));
  }
  return fmt::format(
      R"({{"at":"{}","processes":[{}],"leases":{{{}}},"settings":{{{}}},"tablets":[{}],"unfinished":{},"oldestUnfinishedSeconds":{:.1f}}})",
      FormatTime(report.at_micros), processes, leases, settings, tablets, report.unfinished(), report.oldest_seconds());
}

std::string RenderText(const ClusterReport& report) {
  std::string text = fmt::format("{:<16}  {:<22}  {:<8} {:<7} {:<24}  {:>9}  {:>6}  {}\n", "process", "endpoint", "version", "clock",
                                 "started", "last beat", "leases", "state");
  const auto out = std::back_inserter(text);
  for (const auto& [member, held] : report.processes) {
    fmt::format_to(out, "{:<16}  {:<22}  {:<8} {:<7} {:<24}  {:>7.1f} s  {:>6}  {}\n", member.id, member.beat.endpoint,
                   member.beat.version, member.beat.clock, FormatTime(member.beat.started_micros),
                   Seconds(report.at_micros - member.beat.at_micros), held, StateOf(member));
  }
  if (report.processes.empty()) text += "none\n";
  fmt::format_to(out, "\n{:<12}  {:<40}  {:>5}  {:>10}  {:>14}  {:>10}\n", "tablet", "of", "parts", "keys", "bytes", "unfinished");
  for (const ClusterReport::Tablet& tablet : report.tablets) {
    fmt::format_to(out, "{:<12}  {:<40}  ", TabletName(tablet.named.tablet), tablet.named.purpose);
    if (tablet.error.empty()) {
      fmt::format_to(out, "{:>5}  {:>10}  {:>14}  {:>10}\n", tablet.parts, tablet.keys, tablet.bytes, tablet.unfinished.units);
    } else {
      fmt::format_to(out, "{}\n", tablet.error);
    }
  }
  fmt::format_to(out, "\ntransactions: {} units unfinished", report.unfinished());
  if (report.unfinished() > 0) fmt::format_to(out, ", the oldest for {:.1f} s", report.oldest_seconds());
  text += "\n";
  if (!report.settings.empty()) text += "\nset for all processes:\n";
  for (const auto& [name, value] : report.settings) fmt::format_to(out, "  {} = {}\n", name, value);
  return text;
}

Result<fleet::Roll> WatchRoll(kv::Engine& engine, int64_t micros) {
  ASSIGN_OR_RETURN(const fleet::Roll first, fleet::ReadRoll(engine));
  std::this_thread::sleep_for(std::chrono::microseconds(micros));
  ASSIGN_OR_RETURN(fleet::Roll roll, fleet::ReadRoll(engine));
  for (auto& [id, member] : roll.members) {
    const auto before = first.members.find(id);
    member.alive = before == first.members.end() || before->second.beat.sequence != member.beat.sequence;
    if (!member.alive) member.silent_micros = micros;
  }
  return roll;
}

}  // namespace stator::server
