#include "transfer/data_file.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace stator::transfer {
namespace {

constexpr std::string_view kMagic = "STATORBK";
constexpr size_t kIdBytes = 24;
constexpr size_t kHeaderBytes = 8 + 4 + 4 + kIdBytes;
constexpr size_t kBlockHeadBytes = 4 + 4 + 8;
// A block is closed behind the item that fills it; no encoded item comes near this.
constexpr uint32_t kMostBlockBytes = 16 << 20;
constexpr size_t kReadBytes = 1 << 20;

void AppendLittle(std::string* out, uint64_t number, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) out->push_back(static_cast<char>(number >> (8 * i)));
}

uint64_t ReadLittle(const char* from, size_t bytes) {
  uint64_t number = 0;
  for (size_t i = bytes; i-- > 0;) number = number << 8 | static_cast<uint8_t>(from[i]);
  return number;
}

std::string HeaderOf(const std::string& id, size_t number) {
  std::string header(kMagic);
  AppendLittle(&header, kDataVersion, 4);
  AppendLittle(&header, number, 4);
  header.append(id);
  header.resize(kHeaderBytes, '\0');
  return header;
}

// XXH3-128 of what passes by.
class Sum {
 public:
  Sum() : state_(XXH3_createState(), XXH3_freeState) { XXH3_128bits_reset(state_.get()); }
  void Add(std::string_view bytes) {
    XXH3_128bits_update(state_.get(), bytes.data(), bytes.size());
  }
  std::string Text() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(state_.get());
    return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
  }

 private:
  std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state_;
};

// Reads an object from its start to its end in pieces, and sums up what it has read.
class Stream {
 public:
  explicit Stream(ObjectReader& object) : object_(object) {}

  // Returns the next `bytes` bytes; fewer at the end. Valid until the next call.
  Result<std::string_view> Next(size_t bytes) {
    if (buffer_.size() - at_ < bytes) {
      buffer_.erase(0, at_);
      at_ = 0;
      std::string more;
      TRY(object_.Read(offset_, std::max(bytes - buffer_.size(), kReadBytes), &more));
      offset_ += more.size();
      sum_.Add(more);
      buffer_.append(more);
    }
    const std::string_view found = std::string_view(buffer_).substr(at_, bytes);
    at_ += found.size();
    return found;
  }
  std::string Checksum() const { return sum_.Text(); }

 private:
  ObjectReader& object_;
  std::string buffer_;
  size_t at_ = 0;  // in the buffer
  uint64_t offset_ = 0;
  Sum sum_;
};

// The reading of one file.
class Reading {
 public:
  Reading(const Manifest& manifest, size_t number)
      : manifest_(manifest), file_(manifest.files[number]), number_(number) {}

  Status Run(Folders& folders, FunctionRef<Status(std::string_view item)> visit) {
    Result<std::unique_ptr<ObjectReader>> object = folders.Read(manifest_.id, file_.name);
    if (!object.ok() && object.error().code() == ErrorCode::kResourceNotFound)
      return Damaged("it is missing");
    if (!object.ok()) return std::move(object).error();
    if ((*object)->size() != static_cast<uint64_t>(file_.bytes))
      return Damaged(fmt::format("it has {} bytes and not {}", (*object)->size(), file_.bytes));
    Stream stream(**object);
    ASSIGN_OR_RETURN(const std::string_view header, stream.Next(kHeaderBytes));
    if (header.substr(0, kMagic.size()) != kMagic) return Damaged("it is no data file");
    if (header != HeaderOf(manifest_.id, number_ + 1))
      return Damaged("it is another data file, or one of another backup or version");
    int64_t items = 0;
    for (uint64_t at = kHeaderBytes; at < static_cast<uint64_t>(file_.bytes);) {
      ASSIGN_OR_RETURN(const std::string_view head, stream.Next(kBlockHeadBytes));
      if (head.size() != kBlockHeadBytes) return Damaged("it is cut off");
      const uint64_t bytes = ReadLittle(head.data(), 4);
      const uint64_t count = ReadLittle(head.data() + 4, 4);
      const uint64_t hash = ReadLittle(head.data() + 8, 8);
      if (bytes > kMostBlockBytes) return Damaged(fmt::format("the block at {} is damaged", at));
      ASSIGN_OR_RETURN(const std::string_view payload, stream.Next(bytes));
      if (payload.size() != bytes || XXH3_64bits(payload.data(), payload.size()) != hash)
        return Damaged(fmt::format("the block at {} is damaged", at));
      TRY(VisitBlock(payload, count, at, visit));
      items += static_cast<int64_t>(count);
      at += kBlockHeadBytes + bytes;
    }
    if (items != file_.items)
      return Damaged(fmt::format("it has {} items and not {}", items, file_.items));
    if (stream.Checksum() != file_.checksum) return Damaged("its checksum is wrong");
    return OkStatus();
  }

 private:
  Status VisitBlock(std::string_view payload, uint64_t count, uint64_t at,
                    FunctionRef<Status(std::string_view item)> visit) const {
    for (; count > 0; --count) {
      if (payload.size() < 4) return Damaged(fmt::format("the block at {} is no block", at));
      const uint64_t bytes = ReadLittle(payload.data(), 4);
      if (payload.size() - 4 < bytes)
        return Damaged(fmt::format("the block at {} is no block", at));
      TRY(visit(payload.substr(4, bytes)));
      payload.remove_prefix(4 + bytes);
    }
    if (!payload.empty()) return Damaged(fmt::format("the block at {} is no block", at));
    return OkStatus();
  }

  Error Damaged(std::string_view why) const {
    return CorruptionError(
        fmt::format("The file {} of the backup {} is damaged: {}.", file_.name, manifest_.id, why));
  }

  const Manifest& manifest_;
  const DataFile& file_;
  const size_t number_;
};

}  // namespace

struct DataWriter::Hash {
  Sum sum;
};

DataWriter::DataWriter(Folders& folders, std::string backup_id, DataLimits limits)
    : folders_(folders), id_(std::move(backup_id)), limits_(limits) {
  block_.reserve(kBlockHeadBytes + 2 * limits_.block_bytes);
  block_.resize(kBlockHeadBytes);
}

DataWriter::~DataWriter() = default;

Status DataWriter::Add(std::string_view item) {
  AppendLittle(&block_, item.size(), 4);
  block_.append(item);
  ++block_items_;
  if (block_.size() < kBlockHeadBytes + limits_.block_bytes) return OkStatus();
  return CloseBlock();
}

Result<std::vector<DataFile>> DataWriter::Finish() {
  TRY(CloseBlock());
  TRY(CloseFile());
  return std::move(files_);
}

Status DataWriter::StartFile() {
  DataFile& file = files_.emplace_back();
  file.name = fmt::format("data-{:06}", files_.size());
  ASSIGN_OR_RETURN(object_, folders_.Write(id_, file.name));
  hash_ = std::make_unique<Hash>();
  return Append(HeaderOf(id_, files_.size()));
}

Status DataWriter::Append(std::string_view bytes) {
  TRY(object_->Append(bytes));
  hash_->sum.Add(bytes);
  files_.back().bytes += static_cast<int64_t>(bytes.size());
  bytes_ += bytes.size();
  return OkStatus();
}

Status DataWriter::CloseBlock() {
  if (block_items_ == 0) return OkStatus();
  if (object_ == nullptr) TRY(StartFile());
  const std::string_view payload = std::string_view(block_).substr(kBlockHeadBytes);
  std::string head;
  AppendLittle(&head, payload.size(), 4);
  AppendLittle(&head, block_items_, 4);
  AppendLittle(&head, XXH3_64bits(payload.data(), payload.size()), 8);
  std::memcpy(block_.data(), head.data(), head.size());
  TRY(Append(block_));
  files_.back().items += block_items_;
  block_.resize(kBlockHeadBytes);
  block_items_ = 0;
  return static_cast<uint64_t>(files_.back().bytes) < limits_.file_bytes ? OkStatus() : CloseFile();
}

Status DataWriter::CloseFile() {
  if (object_ == nullptr) return OkStatus();
  TRY(object_->Finish());
  object_ = nullptr;
  files_.back().checksum = hash_->sum.Text();
  return OkStatus();
}

Status ReadDataFile(Folders& folders, const Manifest& manifest, size_t number,
                    FunctionRef<Status(std::string_view item)> visit) {
  return Reading(manifest, number).Run(folders, visit);
}

}  // namespace stator::transfer
