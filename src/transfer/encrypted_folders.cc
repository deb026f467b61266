#include "transfer/encrypted_folders.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/log.h"
#include "crypt/encrypted_file.h"
#include "crypt/file_cipher.h"

namespace stator::transfer {
namespace {

namespace fs = std::filesystem;

class EncryptedWriter final : public ObjectWriter {
 public:
  EncryptedWriter(std::unique_ptr<ObjectWriter> inner, const crypt::DataKey& key)
      : inner_(std::move(inner)), cipher_(key) {}
  Status Append(std::string_view bytes) override {
    sealed_.resize(bytes.size());
    cipher_.Apply(size_, bytes.data(), bytes.size(), sealed_.data());
    size_ += bytes.size();
    return inner_->Append(sealed_);
  }
  Status Finish() override { return inner_->Finish(); }

 private:
  const std::unique_ptr<ObjectWriter> inner_;
  const crypt::FileCipher cipher_;
  std::string sealed_;
  uint64_t size_ = 0;
};

class EncryptedReader final : public ObjectReader {
 public:
  EncryptedReader(std::unique_ptr<ObjectReader> inner, const crypt::DataKey& key)
      : inner_(std::move(inner)), cipher_(key) {}
  uint64_t size() const override { return inner_->size() - crypt::kHeaderBytes; }
  Status Read(uint64_t offset, size_t bytes, std::string* out) override {
    TRY(inner_->Read(crypt::kHeaderBytes + offset, bytes, out));
    cipher_.Apply(offset, out->data(), out->size(), out->data());
    return OkStatus();
  }

 private:
  const std::unique_ptr<ObjectReader> inner_;
  const crypt::FileCipher cipher_;
};

class EncryptedFolders final : public Folders {
 public:
  EncryptedFolders(std::unique_ptr<Folders> inner, std::shared_ptr<const crypt::FileKeys> keys)
      : inner_(std::move(inner)), keys_(std::move(keys)) {}

  Result<std::vector<std::string>> Open() override { return inner_->Open(); }
  Result<std::unique_ptr<ObjectWriter>> Write(const std::string& folder,
                                              const std::string& object) override {
    ASSIGN_OR_RETURN(std::unique_ptr<ObjectWriter> inner, inner_->Write(folder, object));
    if (keys_ == nullptr) return Result<std::unique_ptr<ObjectWriter>>(std::move(inner));
    std::string header;
    const crypt::DataKey key = keys_->NewFile(&header);
    TRY(inner->Append(header));
    return std::unique_ptr<ObjectWriter>(std::make_unique<EncryptedWriter>(std::move(inner), key));
  }
  Status Publish(const std::string& folder) override { return inner_->Publish(folder); }
  Result<std::unique_ptr<ObjectReader>> Read(const std::string& folder,
                                             const std::string& object) override {
    ASSIGN_OR_RETURN(std::unique_ptr<ObjectReader> inner, inner_->Read(folder, object));
    std::string header;
    TRY(inner->Read(0, crypt::kHeaderBytes, &header));
    if (crypt::FormOf(header) != crypt::Form::kEncrypted)
      return Result<std::unique_ptr<ObjectReader>>(std::move(inner));
    const std::string name = fmt::format("The file {}/{}/{}", inner_->place(), folder, object);
    if (keys_ == nullptr) {
      return Error(ErrorCode::kUnavailable,
                   fmt::format("{} is encrypted. Give its key with --encryption-key-file.", name));
    }
    const Result<crypt::DataKey> key = keys_->Open(header, name);
    if (!key.ok()) return Error(ErrorCode::kUnavailable, key.error().message() + ".");
    return std::unique_ptr<ObjectReader>(std::make_unique<EncryptedReader>(std::move(inner), *key));
  }
  Status Remove(const std::string& folder) override { return inner_->Remove(folder); }
  void Cancel() override { inner_->Cancel(); }
  std::string place() const override { return inner_->place(); }

 private:
  const std::unique_ptr<Folders> inner_;
  const std::shared_ptr<const crypt::FileKeys> keys_;
};

}  // namespace

std::unique_ptr<Folders> MakeEncryptedFolders(std::unique_ptr<Folders> folders,
                                              std::shared_ptr<const crypt::FileKeys> keys) {
  return std::make_unique<EncryptedFolders>(std::move(folders), std::move(keys));
}

void RenewBackupKeys(const std::string& directory, const crypt::FileKeys& keys) {
  size_t renewed = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator it(directory, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code ignored;
    if (!it->is_regular_file(ignored) || it->path().filename() == "LOCK") continue;
    const Result<bool> done = crypt::RenewHeader(it->path().string(), keys);
    if (!done.ok()) {
      LogWarn("backup_key_not_renewed",
              {{"file", it->path().string()}, {"error", done.error().message()}});
    } else {
      renewed += *done ? 1 : 0;
    }
  }
  if (renewed > 0)
    LogInfo("backup_keys_renewed",
            {{"place", directory}, {"files", renewed}, {"key", keys.key_id()}});
}

}  // namespace stator::transfer
