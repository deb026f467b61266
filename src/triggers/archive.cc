#include "triggers/archive.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <thread>

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
constexpr auto kTurnPause = std::chrono::milliseconds(5);

// Returns the position of a file's last change.
Result<std::optional<stream::Position>> LastIn(ArchivePlace& place, const std::string& name,
                                               uint64_t size) {
  if (size > kMostFileBytes)
    return CorruptionError(name + " is no file of an archive: move it away");
  ASSIGN_OR_RETURN(const std::string compressed, place.Read(name, size));
  ASSIGN_OR_RETURN(const std::string lines,
                   Decompress(Encoding::kGzip, compressed, kMostFileBytes));
  const size_t end = lines.size() - (lines.ends_with('\n') ? 1 : 0);
  const size_t start = end == 0 ? std::string::npos : lines.rfind('\n', end - 1);
  simdjson::dom::parser parser;
  const simdjson::padded_string line(
      std::string_view(lines).substr(0, end).substr(start == std::string::npos ? 0 : start + 1));
  std::string_view number;
  simdjson::dom::element json;
  if (parser.parse(line).get(json) == simdjson::SUCCESS &&
      json["dynamodb"]["SequenceNumber"].get(number) == simdjson::SUCCESS) {
    if (const auto position = stream::ParseSequenceNumber(number)) return position;
  }
  return CorruptionError(name + " is no file of an archive: move it away");
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

Outcome Archive::Deliver(const Batch& batch) {
  std::optional<Account::Share> share;
  if (batch.calls != nullptr) share.emplace(*batch.calls);
  size_t bytes = 0;
  for (const Change* change : batch.changes) bytes += change->json.size() + 1;
  const Error stops(ErrorCode::kUnavailable, "the server stops");
  if (!Take(batch, kCopies * bytes, share ? &*share : nullptr)) return NotRun(0, stops);
  size_t at = 0;
  while (at < batch.changes.size()) {
    if (cancelled_) return NotRun(at, stops);
    const Change& first = *batch.changes[at];
    const std::string hour = HourOf(first.created_micros);
    const std::string name = fmt::format("{}/{}/{}-{}.ndjson.gz", batch.table, hour, batch.shard_id,
                                         stream::SequenceNumberOf(first.position));
    const Result<std::optional<uint64_t>> there = place_->SizeOf(name);
    if (!there.ok()) return NotRun(at, there.error());
    if (*there) {
      if (!Take(batch, kMostFileBytes, share ? &*share : nullptr)) return NotRun(at, stops);
      const Result<std::optional<stream::Position>> last = LastIn(*place_, name, **there);
      if (share) share->Keep(kCopies * bytes);
      if (!last.ok()) return NotRun(at, last.error());
      while (at < batch.changes.size() && batch.changes[at]->position <= **last) ++at;
      continue;
    }
    std::string lines;
    size_t end = at;
    for (; end < batch.changes.size(); ++end) {
      if (end > at && HourOf(batch.changes[end]->created_micros) != hour) break;
      lines += batch.changes[end]->json;
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
