#include "kv_rocks/log_repair.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "crypt/encrypted_file.h"
#include "kv/fixed_bytes.h"
#include "kv_rocks/rocks_tuning.h"

namespace stator::kv_rocks {
namespace {

// RocksDB's log:
//   log      = block*                      blocks of 32 KB, the last one shorter
//   block    = fragment* filler            fewer than 7 bytes of filler
//   fragment = crc:4 length:2 type:1 data  little-endian; the masked crc32c covers type and data
//   type     = 1 whole record | 2 its first part | 3 a middle part | 4 its last part
constexpr size_t kBlock = 32 << 10;
constexpr size_t kHeader = 7;
constexpr size_t kSector = 512;
constexpr size_t kTailBytes = 64;
constexpr size_t kBlocksAtOnce = 32 * kBlock;
enum FragmentType : uint8_t { kWhole = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

constexpr std::array<uint32_t, 256> MakeCrcTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0);
    table[i] = crc;
  }
  return table;
}
constexpr std::array<uint32_t, 256> kCrcTable = MakeCrcTable();

uint32_t MaskedCrc(std::string_view data) {
  uint32_t crc = 0xffffffff;
  for (char c : data) crc = (crc >> 8) ^ kCrcTable[(crc ^ static_cast<uint8_t>(c)) & 0xff];
  crc ^= 0xffffffff;
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8;
}

// A log in memory. Records are read from its text, and holes are seen in its bytes on the disk:
// what never reached the disk is zeros there, and noise in the text of an encrypted file.
class LogText {
 public:
  static Result<LogText> Read(const std::string& file, const crypt::FileKeys* keys) {
    ASSIGN_OR_RETURN(const crypt::FileReader reader, crypt::FileReader::Open(file, keys));
    LogText log;
    log.header_bytes_ = reader.header_bytes();
    TRY(reader.Read(0, reader.size(), &log.text_, keys == nullptr ? nullptr : &log.raw_));
    return Result<LogText>(std::move(log));
  }
  std::string_view text() const { return text_; }
  std::string_view raw() const { return header_bytes_ == 0 ? text_ : raw_; }
  size_t size() const { return text_.size(); }
  size_t header_bytes() const { return header_bytes_; }

 private:
  size_t header_bytes_ = 0;
  std::string text_;
  std::string raw_;
};

struct Fragment {
  FragmentType type;
  size_t end;
};

size_t BlockEnd(std::string_view log, size_t at) {
  return std::min(log.size(), (at / kBlock + 1) * kBlock);
}

// The intact fragment that begins at `at`, if there is one.
std::optional<Fragment> FragmentAt(std::string_view log, size_t at) {
  const size_t block_end = BlockEnd(log, at);
  if (at + kHeader > block_end) return std::nullopt;
  uint32_t crc;
  uint16_t length;
  std::memcpy(&crc, log.data() + at, sizeof crc);
  std::memcpy(&length, log.data() + at + 4, sizeof length);
  const auto type = static_cast<uint8_t>(log[at + 6]);
  if (type < kWhole || type > kLast || at + kHeader + length > block_end) return std::nullopt;
  if (MaskedCrc(log.substr(at + 6, 1 + size_t{length})) != crc) return std::nullopt;
  return Fragment{static_cast<FragmentType>(type), at + kHeader + length};
}

bool AllZero(std::string_view bytes) {
  return bytes.find_first_not_of('\0') == std::string_view::npos;
}

struct Damage {
  size_t record;           // where the first record begins that is not intact
  bool torn;               // as a power cut tears: incomplete, or with holes
  bool last;               // no intact record follows
  bool cut_off;            // by the end of the file: RocksDB itself passes over it
  bool unwritten = false;  // zeros up to the end, in an encrypted file, where they read as noise
};

// Whether a record begins, intact, anywhere after `at`.
bool RecordFollows(std::string_view log, size_t at) {
  while (at < log.size()) {
    const std::optional<Fragment> fragment = FragmentAt(log, at);
    if (fragment && (fragment->type == kWhole || fragment->type == kFirst)) return true;
    at = fragment ? fragment->end : at + 1;
  }
  return false;
}

bool HasHole(std::string_view log, size_t record) {
  const size_t aligned = (record + kSector - 1) / kSector * kSector;
  if (record + kHeader <= log.size() &&
      AllZero(log.substr(record, std::max(kHeader, aligned - record))))
    return true;
  for (size_t at = aligned; at < log.size(); at += kSector) {  // the last sector may be short
    if (AllZero(log.substr(at, kSector))) return true;
  }
  return false;
}

std::optional<Damage> FindDamage(const LogText& whole) {
  const std::string_view log = whole.text();
  size_t record = 0;
  bool inside = false;
  for (size_t at = 0; at < log.size();) {
    const size_t block_end = BlockEnd(log, at);
    if (block_end - at < kHeader && block_end % kBlock == 0) {
      at = block_end;
      if (!inside) record = at;
      continue;
    }
    const std::optional<Fragment> fragment = FragmentAt(log, at);
    const bool fits = fragment && (fragment->type == kWhole || fragment->type == kFirst) != inside;
    if (!fits) {
      if (AllZero(whole.raw().substr(at)) && !inside) {  // reserved and never written
        if (whole.header_bytes() == 0) return std::nullopt;
        return Damage{record, true, true, false, true};
      }
      uint16_t length = 0;
      const bool header = at + kHeader <= log.size();
      if (header) std::memcpy(&length, log.data() + at + 4, sizeof length);
      const bool cut_off =
          block_end == log.size() && (!header || at + kHeader + length > log.size()) && !fragment;
      return Damage{record, cut_off || HasHole(whole.raw(), record), !RecordFollows(log, at + 1),
                    cut_off};
    }
    at = fragment->end;
    inside = fragment->type == kFirst || fragment->type == kMiddle;
    if (!inside) record = at;
  }
  if (inside) return Damage{record, true, true, true};
  return std::nullopt;
}

Status CutFile(const std::string& file, size_t size) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
  const bool cut = fd >= 0 && ::ftruncate(fd, static_cast<off_t>(size)) == 0 && ::fsync(fd) == 0;
  const int failed = errno;
  if (fd >= 0) ::close(fd);
  if (cut) return OkStatus();
  return Error(ErrorCode::kUnavailable,
               fmt::format("Cannot cut the torn end off {}: {}.", file, std::strerror(failed)));
}

// The manifest is a log too, synced after every record and before anything relies on it: a torn
// last record is a change of files that never happened. The logs and files that it would have
// replaced are still there.
Result<bool> CutTornManifest(const std::string& path, const crypt::FileKeys* keys) {
  ASSIGN_OR_RETURN(const LogText current, LogText::Read(path + "/CURRENT", keys));
  std::string name(current.text());
  while (!name.empty() && name.back() == '\n') name.pop_back();
  if (!name.starts_with("MANIFEST-")) return false;
  const std::string file = path + "/" + name;
  ASSIGN_OR_RETURN(const LogText manifest, LogText::Read(file, keys));
  const std::optional<Damage> damage = FindDamage(manifest);
  if (!damage || !damage->torn || !damage->last || damage->record == 0) return false;
  LogWarn("cut off a change of files that a crash tore before it took effect",
          {{"file", file}, {"from", damage->record}, {"to", manifest.size()}});
  TRY(CutFile(file, manifest.header_bytes() + damage->record));
  return true;
}

// The logs of the store by their numbers.
std::vector<std::pair<uint64_t, std::string>> ListLogs(const std::string& path) {
  std::vector<std::pair<uint64_t, std::string>> logs;
  std::error_code error;
  for (std::filesystem::directory_iterator it(path, error), end; !error && it != end;
       it.increment(error)) {
    const std::string stem = it->path().stem().string();
    uint64_t number = 0;
    const auto parsed = std::from_chars(stem.data(), stem.data() + stem.size(), number);
    if (it->path().extension() != ".log" || parsed.ec != std::errc() ||
        parsed.ptr != stem.data() + stem.size())
      continue;
    logs.emplace_back(number, it->path().string());
  }
  std::sort(logs.begin(), logs.end());
  return logs;
}

// The end of a record of the committer (WriteGroup) in RocksDB's form of a batch: a put of the last
// stamp (01 length key length value), then log data (03 length 'ff').
std::optional<uint64_t> StampAtEnd(std::string_view record) {
  std::string before("\x01");
  before.push_back(static_cast<char>(kLastStampKey.size()));
  before.append(kLastStampKey).push_back(sizeof(uint64_t));
  const std::string after = std::string("\x03\x01") + kEndMark;
  const size_t size = before.size() + sizeof(uint64_t) + after.size();
  if (record.size() < size) return std::nullopt;
  const std::string_view end = record.substr(record.size() - size);
  if (!end.starts_with(before) || !end.ends_with(after)) return std::nullopt;
  return kv::LoadLittle64(end.data() + before.size());
}

// The stamp of the last whole record of a log.
Result<std::optional<uint64_t>> LastStampIn(const crypt::FileReader& file) {
  std::optional<uint64_t> last;
  std::string tail;  // the last bytes of the record, whose end may be in several fragments
  std::string read;
  for (uint64_t begin = 0; begin < file.size(); begin += kBlocksAtOnce) {
    TRY(file.Read(begin, kBlocksAtOnce, &read));
    const std::string_view log = read;
    for (size_t at = 0; at < log.size();) {
      const size_t block_end = BlockEnd(log, at);
      if (at + kHeader > block_end) {
        at = block_end;
        continue;
      }
      uint16_t length;
      std::memcpy(&length, log.data() + at + 4, sizeof length);
      const auto type = static_cast<uint8_t>(log[at + 6]);
      if (type < kWhole || type > kLast || at + kHeader + length > block_end) return last;
      if (type == kWhole || type == kFirst) tail.clear();
      const std::string_view data = log.substr(at + kHeader, length);
      tail.append(data.substr(data.size() - std::min<size_t>(data.size(), kTailBytes)));
      if (tail.size() > kTailBytes) tail.erase(0, tail.size() - kTailBytes);
      if (type == kWhole || type == kLast) {
        if (const std::optional<uint64_t> stamp = StampAtEnd(tail)) last = stamp;
      }
      at += kHeader + length;
    }
  }
  return last;
}

}  // namespace

uint64_t LastStampInLogs(const std::string& path, const crypt::FileKeys* keys) {
  std::vector<std::pair<uint64_t, std::string>> logs = ListLogs(path);
  for (; !logs.empty(); logs.pop_back()) {
    const Result<crypt::FileReader> log = crypt::FileReader::Open(logs.back().second, keys);
    if (!log.ok()) continue;  // RocksDB says so when it opens it
    const Result<std::optional<uint64_t>> stamp = LastStampIn(*log);
    if (stamp.ok() && *stamp) return **stamp;
  }
  return 0;
}

Result<bool> CutTornTail(const std::string& path, bool sync, const std::string& complaint,
                         const crypt::FileKeys* keys) {
  std::vector<std::pair<uint64_t, std::string>> logs = ListLogs(path);
  // A start that the power cut too leaves a new log without a record behind the torn one.
  while (logs.size() > 1) {
    ASSIGN_OR_RETURN(const LogText newest, LogText::Read(logs.back().second, keys));
    if (!AllZero(newest.raw())) break;
    logs.pop_back();
  }
  bool cut = false;
  for (const auto& [number, file] : logs) {
    ASSIGN_OR_RETURN(const LogText log, LogText::Read(file, keys));
    const std::optional<Damage> damage = FindDamage(log);
    if (!damage) continue;
    const bool newest = number == logs.back().first;
    // An earlier crash tore this one, and RocksDB passed over it at the start behind that.
    if (!newest && damage->cut_off && damage->last) continue;
    const bool expected = damage->torn && (damage->last || !sync) && newest;
    if (!expected && !damage->unwritten) {
      return CorruptionError(
          fmt::format("The log {} is damaged at byte {} ({}): writes that were acknowledged would "
                      "be lost, so the store was not opened. "
                      "Restore it from a backup.",
                      file, damage->record, complaint));
    }
    LogWarn(
        sync ? "cut off a write that a crash tore before it was acknowledged"
             : "lost the writes that were not yet on disk when the power failed (durability is os)",
        {{"file", file}, {"from", damage->record}, {"to", log.size()}});
    TRY(CutFile(file, log.header_bytes() + damage->record));
    cut = true;
  }
  if (cut) return true;
  return CutTornManifest(path, keys);
}

}  // namespace stator::kv_rocks
