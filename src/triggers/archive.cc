#include "triggers/archive.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
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

Error DiskError(const std::string& path, int error) {
  return Error(ErrorCode::kUnavailable, fmt::format("{}: {}", path, std::strerror(error)));
}

Status WriteAll(int fd, const std::string& path, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return DiskError(path, errno);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  if (fsync(fd) != 0) return DiskError(path, errno);
  return OkStatus();
}

Status SyncDirectory(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return DiskError(path, errno);
  const int synced = fsync(fd);
  const int error = errno;
  close(fd);
  return synced == 0 ? OkStatus() : Status(DiskError(path, error));
}

// Makes a directory and those above it, each of them durable.
Status MakeDirectories(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return OkStatus();
  if (path.has_parent_path() && path.parent_path() != path)
    TRY(MakeDirectories(path.parent_path()));
  if (mkdir(path.c_str(), 0750) != 0 && errno != EEXIST) return DiskError(path.string(), errno);
  return SyncDirectory(path.has_parent_path() ? path.parent_path().string() : ".");
}

Status WriteFile(const std::string& directory, const std::string& name, std::string_view bytes) {
  TRY(MakeDirectories(directory));
  const std::string path = directory + "/" + name;
  // Another process that runs the same mapping for a moment has a name of its own.
  const std::string aside = fmt::format("{}/.{}.{}", directory, name, getpid());
  const int fd = open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
  if (fd < 0) return DiskError(aside, errno);
  Status written = WriteAll(fd, aside, bytes);
  close(fd);
  if (written.ok() && rename(aside.c_str(), path.c_str()) != 0) written = DiskError(path, errno);
  if (written.ok()) return SyncDirectory(directory);
  unlink(aside.c_str());
  return written;
}

// Returns the position of a file's last change; nullopt if there is no such file.
Result<std::optional<stream::Position>> LastIn(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    if (errno == ENOENT) return std::optional<stream::Position>();
    return DiskError(path, errno);
  }
  const std::string compressed{std::istreambuf_iterator<char>(file), {}};
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
  return CorruptionError(path + " is no file of an archive: move it away");
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
    const std::string directory = fmt::format("{}/{}/{}", directory_, batch.table, hour);
    const std::string name =
        fmt::format("{}-{}.ndjson.gz", batch.shard_id, stream::SequenceNumberOf(first.position));
    std::error_code ignored;
    const bool there = std::filesystem::exists(directory + "/" + name, ignored);
    if (there && !Take(batch, kMostFileBytes, share ? &*share : nullptr)) return NotRun(at, stops);
    const Result<std::optional<stream::Position>> last = LastIn(directory + "/" + name);
    if (there && share) share->Keep(kCopies * bytes);
    if (!last.ok()) return NotRun(at, last.error());
    if (*last) {
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
    if (const Status written = WriteFile(directory, name, Gzip(lines)); !written.ok())
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
  const std::string directory = fmt::format("{}/{}/failed", directory_, batch.table);
  const std::string name = fmt::format("{}-{}.json", batch.shard_id,
                                       stream::SequenceNumberOf(batch.changes.front()->position));
  const Status written = WriteFile(directory, name, document);
  return written.ok() ? Outcome{} : NotRun(0, written.error());
}

}  // namespace stator::triggers
