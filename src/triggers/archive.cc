#include "triggers/archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/compress.h"
#include "base/time_text.h"
#include "simdjson.h"
#include "stream/position.h"
#include "triggers/event.h"

namespace stator::triggers {
namespace {

constexpr size_t kMostFileBytes = 64 << 20;  // decompressed; far above an event's
// Copies of a batch while it is written: its lines, which grow by doubling, and their gzip.
constexpr size_t kCopies = 4;
constexpr size_t kMostLanes = 10;  // [D] ParallelizationFactor
constexpr auto kTurnPause = std::chrono::milliseconds(5);

struct Contents {
  bool has = false;  // the change that was asked for
  stream::Position last;
};
// Reads a file; `wanted` is the text of a sequence number.
Result<Contents> ContentsOf(ArchivePlace& place, const std::string& name, uint64_t size,
                            std::string_view wanted) {
  const Error odd = CorruptionError(name + " is no file of an archive: move it away");
  if (size > kMostFileBytes) return odd;
  ASSIGN_OR_RETURN(const std::string compressed, place.Read(name, size));
  ASSIGN_OR_RETURN(const std::string text, Decompress(Encoding::kGzip, compressed, kMostFileBytes));
  std::string_view lines = text;
  if (lines.ends_with('\n')) lines.remove_suffix(1);
  const size_t before = lines.rfind('\n');
  simdjson::dom::parser parser;
  const simdjson::padded_string line(
      lines.substr(before == std::string_view::npos ? 0 : before + 1));
  std::string_view number;
  simdjson::dom::element json;
  if (parser.parse(line).get(json) != simdjson::SUCCESS ||
      json["dynamodb"]["SequenceNumber"].get(number) != simdjson::SUCCESS)
    return odd;
  const auto last = stream::ParseSequenceNumber(number);
  if (!last) return odd;
  // Texts of items have their quotes escaped: this is the member.
  const std::string member = fmt::format("\"SequenceNumber\":\"{}\"", wanted);
  return Contents{lines.find(member) != std::string_view::npos, *last};
}

std::string HourOf(int64_t micros) {
  const std::string text = FormatTime(micros);  // 2026-11-21T12:30:05.250Z
  return fmt::format("date={}/hour={}", text.substr(0, 10), text.substr(11, 2));
}

// `done` changes are in files.
Outcome NotRun(size_t done, const Error& error) {
  return {Outcome::Kind::kNotRun, done, error.message(), 0};
}

}  // namespace

bool Archive::Take(const Batch& batch, size_t bytes, Account::Share* share) const {
  if (batch.calls == nullptr) return true;
  while (!share->Take(bytes, Account::Need::kMust)) {
    if (cancelled_) return false;
    std::this_thread::sleep_for(kTurnPause);
  }
  return true;
}

Status Archive::FindCovering(const Batch& batch, Account::Share* share) {
  if (looked_) return OkStatus();
  const Change& first = *batch.changes.front();
  const std::string wanted = stream::SequenceNumberOf(first.position);
  const std::string prefix =
      fmt::format("{}/{}/{}-", batch.table, HourOf(first.created_micros), batch.shard_id);
  // A file has the changes of one hour, so it is among those of this one's.
  ASSIGN_OR_RETURN(const std::vector<std::string> names, place_->List(prefix));
  std::vector<std::pair<stream::Position, std::string>> earlier;
  for (const std::string& name : names) {
    const std::string_view number = std::string_view(name).substr(prefix.size());
    const auto begins = stream::ParseSequenceNumber(number.substr(0, number.find('.')));
    if (begins && *begins < first.position && name.ends_with(".ndjson.gz"))
      earlier.emplace_back(*begins, name);
  }
  // Files of other lanes may begin between.
  std::sort(earlier.rbegin(), earlier.rend());
  if (earlier.size() > kMostLanes) earlier.resize(kMostLanes);
  for (const auto& [begins, name] : earlier) {
    if (!Take(batch, kMostFileBytes, share))
      return Error(ErrorCode::kUnavailable, "the server stops");
    ASSIGN_OR_RETURN(const std::optional<uint64_t> size, place_->SizeOf(name));
    if (!size) continue;
    ASSIGN_OR_RETURN(const Contents contents, ContentsOf(*place_, name, *size, wanted));
    if (!contents.has) continue;
    covered_to_ = contents.last;
    break;
  }
  looked_ = true;
  return OkStatus();
}

Outcome Archive::Deliver(const Batch& batch) {
  std::optional<Account::Share> share;
  if (batch.calls != nullptr) share.emplace(*batch.calls);
  size_t bytes = 0;
  for (const Change* change : batch.changes) bytes += change->json().size() + 1;
  const Error stops(ErrorCode::kUnavailable, "the server stops");
  if (!Take(batch, kCopies * bytes, share ? &*share : nullptr)) return NotRun(0, stops);
  if (const Status found = FindCovering(batch, share ? &*share : nullptr); !found.ok())
    return NotRun(0, found.error());
  if (share) share->Keep(kCopies * bytes);
  size_t at = 0;
  while (at < batch.changes.size()) {
    if (cancelled_) return NotRun(at, stops);
    if (covered_to_ && batch.changes[at]->position <= *covered_to_) {
      ++at;
      continue;
    }
    const Change& first = *batch.changes[at];
    const std::string hour = HourOf(first.created_micros);
    const std::string name = fmt::format("{}/{}/{}-{}.ndjson.gz", batch.table, hour, batch.shard_id,
                                         stream::SequenceNumberOf(first.position));
    const Result<std::optional<uint64_t>> there = place_->SizeOf(name);
    if (!there.ok()) return NotRun(at, there.error());
    if (*there) {
      if (!Take(batch, kMostFileBytes, share ? &*share : nullptr)) return NotRun(at, stops);
      const Result<Contents> contents =
          ContentsOf(*place_, name, **there, stream::SequenceNumberOf(first.position));
      if (share) share->Keep(kCopies * bytes);
      if (!contents.ok()) return NotRun(at, contents.error());
      covered_to_ = contents->last;  // perhaps beyond this batch
      continue;
    }
    std::string lines;
    size_t end = at;
    for (; end < batch.changes.size(); ++end) {
      if (end > at && HourOf(batch.changes[end]->created_micros) != hour) break;
      lines += batch.changes[end]->json();
      lines += '\n';
    }
    if (const Status written = place_->Write(name, Gzip(lines)); !written.ok())
      return NotRun(at, written.error());
    at = end;
  }
  return {};
}

Outcome Archive::Report(const Batch& batch, const std::string& head) {
  const std::string begin = EventBody::ReportHead(head);
  const EventBody body(begin, batch, EventBody::kReportTail);
  std::optional<Account::Share> share;
  if (batch.calls != nullptr) share.emplace(*batch.calls);
  if (!Take(batch, body.size() + 1, share ? &*share : nullptr))
    return NotRun(0, Error(ErrorCode::kUnavailable, "the server stops"));
  std::string document;
  document.reserve(body.size() + 1);
  const Status made = body.Visit([&document](std::string_view piece) {
    document += piece;
    return OkStatus();
  });
  if (!made.ok()) return NotRun(0, made.error());
  document += '\n';
  const std::string name = fmt::format("{}/failed/{}-{}.json", batch.table, batch.shard_id,
                                       stream::SequenceNumberOf(batch.changes.front()->position));
  const Status written = place_->Write(name, document);
  return written.ok() ? Outcome{} : NotRun(0, written.error());
}

}  // namespace stator::triggers
