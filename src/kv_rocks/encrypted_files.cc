#include "kv_rocks/encrypted_files.h"

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <rocksdb/system_clock.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "crypt/file_cipher.h"
#include "kv_rocks/encrypted_log.h"

namespace stator::kv_rocks {
namespace {

using crypt::kHeaderBytes;
using rocksdb::FileOptions;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

IOStatus ToStatus(const Error& error) {
  return error.code() == ErrorCode::kCorruption ? IOStatus::Corruption(error.message())
                                                : IOStatus::IOError(error.message());
}

uint64_t ContentBytes(uint64_t file_bytes) {
  return file_bytes - std::min<uint64_t>(file_bytes, kHeaderBytes);
}

// Decrypts what was read from `offset` of the content, and leaves it in `scratch`.
void Decrypt(const crypt::FileCipher& cipher, uint64_t offset, char* scratch, Slice* read) {
  cipher.Apply(offset, read->data(), read->size(), scratch);
  *read = Slice(scratch, read->size());
}

// In both readers a null cipher means that the file has no header, and no content.
class SequentialFile final : public rocksdb::FSSequentialFile {
 public:
  // `file` stands behind its header.
  SequentialFile(std::unique_ptr<rocksdb::FSSequentialFile> file,
                 std::unique_ptr<crypt::FileCipher> cipher)
      : file_(std::move(file)), cipher_(std::move(cipher)) {}

  IOStatus Read(size_t bytes, const IOOptions& options, Slice* result, char* scratch,
                IODebugContext* debug) override {
    *result = Slice(scratch, 0);
    if (cipher_ == nullptr) return IOStatus::OK();
    IOStatus status = file_->Read(bytes, options, result, scratch, debug);
    if (!status.ok()) return status;
    Decrypt(*cipher_, at_, scratch, result);
    at_ += result->size();
    return status;
  }
  IOStatus Skip(uint64_t bytes) override {
    if (cipher_ == nullptr) return IOStatus::OK();
    IOStatus status = file_->Skip(bytes);
    if (status.ok()) at_ += bytes;
    return status;
  }
  IOStatus PositionedRead(uint64_t offset, size_t bytes, const IOOptions& options, Slice* result,
                          char* scratch, IODebugContext* debug) override {
    *result = Slice(scratch, 0);
    if (cipher_ == nullptr) return IOStatus::OK();
    IOStatus status =
        file_->PositionedRead(kHeaderBytes + offset, bytes, options, result, scratch, debug);
    if (status.ok()) Decrypt(*cipher_, offset, scratch, result);
    return status;
  }
  bool use_direct_io() const override { return file_->use_direct_io(); }
  size_t GetRequiredBufferAlignment() const override { return file_->GetRequiredBufferAlignment(); }
  IOStatus InvalidateCache(size_t offset, size_t length) override {
    return file_->InvalidateCache(kHeaderBytes + offset, length);
  }
  rocksdb::Temperature GetTemperature() const override { return file_->GetTemperature(); }

 private:
  const std::unique_ptr<rocksdb::FSSequentialFile> file_;
  const std::unique_ptr<crypt::FileCipher> cipher_;
  uint64_t at_ = 0;
};

class RandomAccessFile final : public rocksdb::FSRandomAccessFile {
 public:
  RandomAccessFile(std::unique_ptr<rocksdb::FSRandomAccessFile> file,
                   std::unique_ptr<crypt::FileCipher> cipher)
      : file_(std::move(file)), cipher_(std::move(cipher)) {}

  IOStatus Read(uint64_t offset, size_t bytes, const IOOptions& options, Slice* result,
                char* scratch, IODebugContext* debug) const override {
    *result = Slice(scratch, 0);
    if (cipher_ == nullptr) return IOStatus::OK();
    IOStatus status = file_->Read(kHeaderBytes + offset, bytes, options, result, scratch, debug);
    if (status.ok()) Decrypt(*cipher_, offset, scratch, result);
    return status;
  }
  IOStatus MultiRead(rocksdb::FSReadRequest* requests, size_t count, const IOOptions& options,
                     IODebugContext* debug) override {
    if (cipher_ == nullptr) return FSRandomAccessFile::MultiRead(requests, count, options, debug);
    for (size_t i = 0; i < count; ++i) requests[i].offset += kHeaderBytes;
    IOStatus status = file_->MultiRead(requests, count, options, debug);
    for (size_t i = 0; i < count; ++i) {
      rocksdb::FSReadRequest& request = requests[i];
      request.offset -= kHeaderBytes;
      if (status.ok() && request.status.ok())
        Decrypt(*cipher_, request.offset, request.scratch, &request.result);
    }
    return status;
  }
  IOStatus Prefetch(uint64_t offset, size_t bytes, const IOOptions& options,
                    IODebugContext* debug) override {
    return file_->Prefetch(kHeaderBytes + offset, bytes, options, debug);
  }
  size_t GetUniqueId(char* id, size_t size) const override { return file_->GetUniqueId(id, size); }
  void Hint(AccessPattern pattern) override { file_->Hint(pattern); }
  bool use_direct_io() const override { return file_->use_direct_io(); }
  size_t GetRequiredBufferAlignment() const override { return file_->GetRequiredBufferAlignment(); }
  IOStatus InvalidateCache(size_t offset, size_t length) override {
    return file_->InvalidateCache(kHeaderBytes + offset, length);
  }
  rocksdb::Temperature GetTemperature() const override { return file_->GetTemperature(); }

 private:
  const std::unique_ptr<rocksdb::FSRandomAccessFile> file_;
  const std::unique_ptr<crypt::FileCipher> cipher_;
};

class WritableFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  // The file has its header already, and `size` bytes of content. `appends`: it takes more.
  WritableFile(std::unique_ptr<rocksdb::FSWritableFile> file, const crypt::DataKey& key,
               uint64_t size, bool appends)
      : FSWritableFileOwnerWrapper(std::move(file)), cipher_(key), size_(size), appends_(appends) {}

  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
    if (!appends_) return NoMore();
    for (size_t done = 0; done < data.size();) {
      const size_t part = std::min(data.size() - done, kMostAtOnce);
      if (sealed_.size() < part) sealed_.resize(part);
      cipher_.Apply(size_, data.data() + done, part, sealed_.data());
      IOStatus status = target()->Append(Slice(sealed_.data(), part), options, debug);
      if (!status.ok()) {
        appends_ = false;
        return status;
      }
      size_ += part;
      done += part;
    }
    return IOStatus::OK();
  }
  // The checksum that comes along is of the plain bytes, which nothing below sees.
  IOStatus Append(const Slice& data, const IOOptions& options, const rocksdb::DataVerificationInfo&,
                  IODebugContext* debug) override {
    return Append(data, options, debug);
  }
  IOStatus PositionedAppend(const Slice&, uint64_t, const IOOptions&, IODebugContext*) override {
    return IOStatus::NotSupported("An encrypted file is written at its end only.");
  }
  IOStatus PositionedAppend(const Slice& data, uint64_t offset, const IOOptions& options,
                            const rocksdb::DataVerificationInfo&, IODebugContext* debug) override {
    return PositionedAppend(data, offset, options, debug);
  }
  IOStatus Truncate(uint64_t size, const IOOptions& options, IODebugContext* debug) override {
    if (size != size_) appends_ = false;
    IOStatus status = target()->Truncate(kHeaderBytes + size, options, debug);
    if (status.ok()) size_ = size;
    return status;
  }
  uint64_t GetFileSize(const IOOptions&, IODebugContext*) override { return size_; }
  IOStatus InvalidateCache(size_t offset, size_t length) override {
    return target()->InvalidateCache(kHeaderBytes + offset, length);
  }
  IOStatus RangeSync(uint64_t offset, uint64_t bytes, const IOOptions& options,
                     IODebugContext* debug) override {
    return target()->RangeSync(kHeaderBytes + offset, bytes, options, debug);
  }
  void PrepareWrite(size_t offset, size_t bytes, const IOOptions& options,
                    IODebugContext* debug) override {
    target()->PrepareWrite(kHeaderBytes + offset, bytes, options, debug);
  }
  IOStatus Allocate(uint64_t offset, uint64_t bytes, const IOOptions& options,
                    IODebugContext* debug) override {
    return target()->Allocate(kHeaderBytes + offset, bytes, options, debug);
  }

 private:
  static constexpr size_t kMostAtOnce = 256 << 10;
  static IOStatus NoMore() {
    return IOStatus::NotSupported(
        "An encrypted file takes nothing more after it was reopened, was made shorter, or an "
        "append failed.");
  }

  const crypt::FileCipher cipher_;
  std::string sealed_;
  uint64_t size_;
  bool appends_;
};

class Files final : public rocksdb::FileSystemWrapper {
 public:
  Files(const std::shared_ptr<rocksdb::FileSystem>& base,
        std::shared_ptr<const crypt::FileKeys> keys)
      : FileSystemWrapper(base), keys_(std::move(keys)) {}
  const char* Name() const override { return "stator::EncryptedFiles"; }

  IOStatus NewSequentialFile(const std::string& path, const FileOptions& options,
                             std::unique_ptr<rocksdb::FSSequentialFile>* result,
                             IODebugContext* debug) override {
    std::unique_ptr<crypt::FileCipher> cipher;
    std::unique_ptr<rocksdb::FSSequentialFile> file;
    // A direct reader is positioned, and cannot read a header into memory of ours.
    if (options.use_direct_reads) {
      IOStatus status = ReadCipher(path, &cipher, debug);
      if (status.ok()) status = target()->NewSequentialFile(path, options, &file, debug);
      if (!status.ok()) return status;
    } else {
      IOStatus status = target()->NewSequentialFile(path, options, &file, debug);
      if (!status.ok()) return status;
      status = ReadCipher(file.get(), path, &cipher, debug);
      if (!status.ok()) return status;
    }
    *result = std::make_unique<SequentialFile>(std::move(file), std::move(cipher));
    return IOStatus::OK();
  }

  IOStatus NewRandomAccessFile(const std::string& path, const FileOptions& options,
                               std::unique_ptr<rocksdb::FSRandomAccessFile>* result,
                               IODebugContext* debug) override {
    if (options.use_mmap_reads)
      return IOStatus::InvalidArgument("An encrypted file cannot be mapped into memory", path);
    std::unique_ptr<crypt::FileCipher> cipher;
    IOStatus status = ReadCipher(path, &cipher, debug);
    if (!status.ok()) return status;
    std::unique_ptr<rocksdb::FSRandomAccessFile> file;
    status = target()->NewRandomAccessFile(path, options, &file, debug);
    if (!status.ok()) return status;
    *result = std::make_unique<RandomAccessFile>(std::move(file), std::move(cipher));
    return status;
  }

  IOStatus NewWritableFile(const std::string& path, const FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* result,
                           IODebugContext* debug) override {
    if (options.use_direct_writes)
      return IOStatus::InvalidArgument("An encrypted file cannot be written directly", path);
    std::unique_ptr<rocksdb::FSWritableFile> file;
    IOStatus status = target()->NewWritableFile(path, options, &file, debug);
    if (!status.ok()) return status;
    std::string header;
    const crypt::DataKey key = keys_->NewFile(&header);
    status = file->Append(header, options.io_options, debug);
    if (!status.ok()) return status;
    *result = std::make_unique<WritableFile>(std::move(file), key, 0, true);
    return status;
  }

  IOStatus ReopenWritableFile(const std::string& path, const FileOptions& options,
                              std::unique_ptr<rocksdb::FSWritableFile>* result,
                              IODebugContext* debug) override {
    uint64_t bytes = 0;
    IOStatus status = target()->GetFileSize(path, options.io_options, &bytes, debug);
    const bool missing = status.IsNotFound() || status.IsPathNotFound();
    if (!status.ok() && !missing) return status;
    if (missing || bytes < kHeaderBytes) return NewWritableFile(path, options, result, debug);
    if (options.use_direct_writes)
      return IOStatus::InvalidArgument("An encrypted file cannot be written directly", path);
    std::string header;
    status = ReadHeader(path, &header, debug);
    if (!status.ok()) return status;
    Result<crypt::DataKey> key = keys_->Open(header, path);
    if (!key.ok()) return ToStatus(key.error());
    std::unique_ptr<rocksdb::FSWritableFile> file;
    status = target()->ReopenWritableFile(path, options, &file, debug);
    if (!status.ok()) return status;
    *result = std::make_unique<WritableFile>(std::move(file), *key, ContentBytes(bytes), false);
    return status;
  }

  // The old file's space is not used again, because its bytes would be another key's.
  IOStatus ReuseWritableFile(const std::string& path, const std::string& old_path,
                             const FileOptions& options,
                             std::unique_ptr<rocksdb::FSWritableFile>* result,
                             IODebugContext* debug) override {
    IOStatus status = target()->RenameFile(old_path, path, options.io_options, debug);
    if (!status.ok()) return status;
    return NewWritableFile(path, options, result, debug);
  }

  IOStatus NewRandomRWFile(const std::string& path, const FileOptions&,
                           std::unique_ptr<rocksdb::FSRandomRWFile>*, IODebugContext*) override {
    return IOStatus::NotSupported("An encrypted file cannot be changed in place", path);
  }
  IOStatus NewMemoryMappedFileBuffer(
      const std::string& path,
      std::unique_ptr<rocksdb::MemoryMappedFileBuffer>* /*result*/) override {
    return IOStatus::NotSupported("An encrypted file cannot be mapped into memory", path);
  }

  IOStatus Truncate(const std::string& path, size_t size, const IOOptions& options,
                    IODebugContext* debug) override {
    return target()->Truncate(path, kHeaderBytes + size, options, debug);
  }
  IOStatus GetFileSize(const std::string& path, const IOOptions& options, uint64_t* bytes,
                       IODebugContext* debug) override {
    IOStatus status = target()->GetFileSize(path, options, bytes, debug);
    if (status.ok()) *bytes = ContentBytes(*bytes);
    return status;
  }
  IOStatus GetChildrenFileAttributes(const std::string& directory, const IOOptions& options,
                                     std::vector<rocksdb::FileAttributes>* files,
                                     IODebugContext* debug) override {
    IOStatus status = target()->GetChildrenFileAttributes(directory, options, files, debug);
    if (!status.ok()) return status;
    for (rocksdb::FileAttributes& file : *files) file.size_bytes = ContentBytes(file.size_bytes);
    return status;
  }

  IOStatus NewLogger(const std::string& path, const IOOptions&,
                     std::shared_ptr<rocksdb::Logger>* result, IODebugContext* debug) override {
    FileOptions options;
    options.use_mmap_writes = false;
    std::unique_ptr<rocksdb::FSWritableFile> file;
    IOStatus status = NewWritableFile(path, options, &file, debug);
    if (status.ok()) *result = MakeFileLogger(std::move(file));
    return status;
  }

 private:
  // Reads the beginning of a file from its place on.
  static IOStatus ReadHeader(rocksdb::FSSequentialFile* file, std::string* header,
                             IODebugContext* debug) {
    std::string scratch(kHeaderBytes, '\0');
    header->clear();
    while (header->size() < kHeaderBytes) {
      Slice read;
      IOStatus status =
          file->Read(kHeaderBytes - header->size(), IOOptions(), &read, scratch.data(), debug);
      if (!status.ok()) return status;
      if (read.empty()) break;
      header->append(read.data(), read.size());
    }
    return IOStatus::OK();
  }
  IOStatus ReadHeader(const std::string& path, std::string* header, IODebugContext* debug) {
    std::unique_ptr<rocksdb::FSSequentialFile> file;
    IOStatus status = target()->NewSequentialFile(path, FileOptions(), &file, debug);
    return status.ok() ? ReadHeader(file.get(), header, debug) : status;
  }
  IOStatus MakeCipher(const std::string& header, const std::string& path,
                      std::unique_ptr<crypt::FileCipher>* cipher) {
    if (crypt::FormOf(header) == crypt::Form::kEmpty) {
      if (header.size() == kHeaderBytes) LogWarn("encrypted_file_without_header", {{"file", path}});
      return IOStatus::OK();
    }
    const Result<crypt::DataKey> key = keys_->Open(header, path);
    if (!key.ok()) return ToStatus(key.error());
    *cipher = std::make_unique<crypt::FileCipher>(*key);
    return IOStatus::OK();
  }
  IOStatus ReadCipher(rocksdb::FSSequentialFile* file, const std::string& path,
                      std::unique_ptr<crypt::FileCipher>* cipher, IODebugContext* debug) {
    std::string header;
    IOStatus status = ReadHeader(file, &header, debug);
    return status.ok() ? MakeCipher(header, path, cipher) : status;
  }
  IOStatus ReadCipher(const std::string& path, std::unique_ptr<crypt::FileCipher>* cipher,
                      IODebugContext* debug) {
    std::string header;
    IOStatus status = ReadHeader(path, &header, debug);
    return status.ok() ? MakeCipher(header, path, cipher) : status;
  }

  const std::shared_ptr<const crypt::FileKeys> keys_;
};

class EncryptedEnv final : public rocksdb::EnvWrapper {
 public:
  EncryptedEnv(rocksdb::Env& base, const std::shared_ptr<rocksdb::FileSystem>& files)
      : EnvWrapper(rocksdb::NewCompositeEnv(files)) {
    file_system_ = files;
    system_clock_ = base.GetSystemClock();
  }
  const char* Name() const override { return "stator::EncryptedFiles"; }
};

}  // namespace

std::unique_ptr<rocksdb::Env> MakeEncryptedEnv(rocksdb::Env& base,
                                               std::shared_ptr<const crypt::FileKeys> keys) {
  return std::make_unique<EncryptedEnv>(
      base, std::make_shared<Files>(base.GetFileSystem(), std::move(keys)));
}

}  // namespace stator::kv_rocks
