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

constexpr auto kBetweenLooks = std::chrono::milliseconds(250);

std::string_view SpaceName(kv::Space space) {
  switch (space) {
    case kv::Space::kCatalog: return "catalog";
    case kv::Space::kItems: return "items";
    case kv::Space::kLog: return "log";
  }
  return "";
}

std::string NameOf(kv::Tablet tablet) {
  return fmt::format("{}/{}", SpaceName(tablet.space), tablet.id);
}

double Seconds(int64_t micros) { return static_cast<double>(std::max<int64_t>(micros, 0)) / 1e6; }

double OldestSeconds(const ClusterReport& report, const ClusterReport::Tablet& tablet) {
  if (tablet.unfinished.units == 0) return 0;
  return Seconds(report.at_micros - tablet.unfinished.oldest_micros);
}

std::string_view StateOf(const fleet::Member& member) {
  if (!member.alive) return "dead";
  return member.beat.draining.value_or(false) ? "draining" : "alive";
}

// The ids that a beat names as not reached; of those that are not dead.
std::vector<std::string> Unreached(const ClusterReport& report, std::string_view ids) {
  std::vector<std::string> all;
  while (!ids.empty()) {
    const std::string_view id = ids.substr(0, ids.find(','));
    ids.remove_prefix(std::min(ids.size(), id.size() + 1));
    for (const ClusterReport::Process& process : report.processes) {
      if (process.member.id == id && process.member.alive) all.emplace_back(id);
    }
  }
  return all;
}

Status Measure(kv_tx::TransactionEngine& engine, ClusterReport::Tablet* tablet) {
  kv::Engine& inner = engine.inner();
  const Result<std::vector<kv_rados::PartInfo>> parts =
      kv_rados::PartsOf(inner, tablet->named.tablet);
  if (parts.ok()) {
    tablet->parts = parts->size();
    for (const kv_rados::PartInfo& part : *parts) {
      tablet->bytes += part.bytes;
      tablet->keys += part.keys;
      tablet->unsure += part.unsure;
    }
  } else if (parts.error().code() == ErrorCode::kInternal) {  // an engine without parts, of a test
    tablet->bytes = inner.ApproximateBytes(tablet->named.tablet);
    tablet->parts = tablet->bytes > 0 ? 1 : 0;
  } else {
    return parts.error();
  }
  if (tablet->parts == 0) return OkStatus();
  ASSIGN_OR_RETURN(tablet->unfinished, kv_tx::CountUnfinished(inner, tablet->named.tablet));
  return OkStatus();
}

std::string RenderJson(const ClusterReport& report, const ClusterReport::Process& process) {
  const fleet::Beat& beat = process.member.beat;
  return fmt::format(
      R"({{"id":{},"endpoint":{},"version":{},"clock":{},"state":"{}","started":"{}","beat":{},)"
      R"("beatSecondsAgo":{:.1f},"leases":{},"unreached":{}}})",
      Quoted(process.member.id), Quoted(beat.endpoint), Quoted(beat.version), Quoted(beat.clock),
      StateOf(process.member), FormatTime(beat.started_micros), beat.sequence,
      Seconds(report.at_micros - beat.at_micros), process.leases,
      Array(Unreached(report, beat.unreached), [](const std::string& id) { return Quoted(id); }));
}

std::string RenderJson(const ClusterReport& report, const ClusterReport::Tablet& tablet) {
  const std::string head = fmt::format(R"("tablet":"{}","purpose":{})", NameOf(tablet.named.tablet),
                                       Quoted(tablet.named.purpose));
  if (!tablet.error.empty()) return fmt::format(R"({{{},"error":{}}})", head, Quoted(tablet.error));
  return fmt::format(R"({{{},"parts":{},"keys":{},"bytes":{},"unsureBytes":{},"unfinished":{},)"
                     R"("oldestUnfinishedSeconds":{:.1f}}})",
                     head, tablet.parts, tablet.keys, tablet.bytes, tablet.unsure,
                     tablet.unfinished.units, OldestSeconds(report, tablet));
}

std::string RenderJson(const std::map<std::string, std::string>& texts) {
  return Array(texts, [](const auto& each) {
    return fmt::format(R"({}:{})", Quoted(each.first), Quoted(each.second));
  });
}

}  // namespace

uint64_t ClusterReport::unfinished() const {
  uint64_t units = 0;
  for (const Tablet& tablet : tablets) units += tablet.unfinished.units;
  return units;
}

double ClusterReport::oldest_seconds() const {
  double oldest = 0;
  for (const Tablet& tablet : tablets) oldest = std::max(oldest, OldestSeconds(*this, tablet));
  return oldest;
}

Result<ClusterReport> MakeClusterReport(kv_tx::TransactionEngine& engine,
                                        const fleet::Membership& membership, int64_t now_micros) {
  ClusterReport report;
  report.at_micros = now_micros;
  std::map<std::string, int> held;
  for (const auto& [name, entry] : membership.leases) {
    report.leases[name] = entry.lease.owner;
    ++held[entry.lease.owner];
  }
  for (const auto& [id, member] : membership.members)
    report.processes.push_back({member, held[id]});
  ASSIGN_OR_RETURN(report.settings, fleet::ReadSettings(engine));
  ASSIGN_OR_RETURN(const table::CatalogSnapshot catalog, table::ReadCatalog(engine));
  for (NamedTablet& named : TabletsOf(catalog)) {
    ClusterReport::Tablet& tablet = report.tablets.emplace_back();
    tablet.named = std::move(named);
    const Status measured = Measure(engine, &tablet);
    if (!measured.ok()) tablet.error = measured.error().message();
  }
  return report;
}

std::string RenderJson(const ClusterReport& report) {
  const auto one = [&report](const auto& each) { return RenderJson(report, each); };
  const auto object = [](std::string list) {
    list.front() = '{';
    list.back() = '}';
    return list;
  };
  return fmt::format(
      R"({{"at":"{}","processes":{},"leases":{},"settings":{},"tablets":{},"unfinished":{},)"
      R"("oldestUnfinishedSeconds":{:.1f}}})",
      FormatTime(report.at_micros), Array(report.processes, one), object(RenderJson(report.leases)),
      object(RenderJson(report.settings)), Array(report.tablets, one), report.unfinished(),
      report.oldest_seconds());
}

std::string RenderText(const ClusterReport& report) {
  std::string text;
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "{:<16}  {:<22}  {:<8}  {:<6}  {:<24}  {:>9}  {:>6}  {}\n", "process",
                 "endpoint", "version", "clock", "started", "last beat", "leases", "state");
  for (const auto& [member, leases] : report.processes) {
    const fleet::Beat& beat = member.beat;
    fmt::format_to(out, "{:<16}  {:<22}  {:<8}  {:<6}  {:<24}  {:>7.1f} s  {:>6}  {}\n", member.id,
                   beat.endpoint, beat.version, beat.clock, FormatTime(beat.started_micros),
                   Seconds(report.at_micros - beat.at_micros), leases, StateOf(member));
  }
  if (report.processes.empty()) text += "none\n";
  for (const ClusterReport::Process& process : report.processes) {
    if (!process.member.alive) continue;
    for (const std::string& id : Unreached(report, process.member.beat.unreached)) {
      fmt::format_to(
          out, "\n{} does not reach {}: it serves, and writes what it would hand over to it\n",
          process.member.id, id);
    }
  }
  fmt::format_to(out, "\n{:<12}  {:<40}  {:>5}  {:>10}  {:>14}  {:>10}\n", "tablet", "of", "parts",
                 "keys", "bytes", "unfinished");
  for (const ClusterReport::Tablet& tablet : report.tablets) {
    fmt::format_to(out, "{:<12}  {:<40}  ", NameOf(tablet.named.tablet), tablet.named.purpose);
    if (tablet.error.empty()) {
      // If the size may be wrong by more than a tenth, mark bytes and keys as estimates.
      const std::string_view guess = tablet.unsure * 10 > tablet.bytes ? "~" : "";
      fmt::format_to(out, "{:>5}  {:>10}  {:>14}  {:>10}\n", tablet.parts,
                     fmt::format("{}{}", guess, tablet.keys),
                     fmt::format("{}{}", guess, tablet.bytes), tablet.unfinished.units);
    } else {
      fmt::format_to(out, "{}\n", tablet.error);
    }
  }
  fmt::format_to(out, "\n{} unfinished shares of transactions", report.unfinished());
  if (report.unfinished() > 0)
    fmt::format_to(out, ", the oldest for {:.1f} s", report.oldest_seconds());
  text += "\n";
  if (!report.settings.empty()) text += "\nset for all processes:\n";
  for (const auto& [name, value] : report.settings) fmt::format_to(out, "  {} = {}\n", name, value);
  return text;
}

Result<fleet::Membership> WatchMembership(kv::Engine& engine, const Clock& clock,
                                          int64_t most_micros) {
  ASSIGN_OR_RETURN(const fleet::Membership first, fleet::ReadMembership(engine));
  const int64_t began = clock.TicksMicros();
  fleet::Membership membership = first;
  while (true) {
    bool all_alive = true;
    for (auto& [id, member] : membership.members) {
      const auto before = first.members.find(id);
      member.alive =
          before == first.members.end() || before->second.beat.sequence != member.beat.sequence;
      if (!member.alive) member.silent_micros = clock.TicksMicros() - began;
      all_alive &= member.alive;
    }
    if (all_alive || clock.TicksMicros() - began >= most_micros) return membership;
    std::this_thread::sleep_for(kBetweenLooks);
    ASSIGN_OR_RETURN(membership, fleet::ReadMembership(engine));
  }
}

}  // namespace stator::server
