#include "kv_rocks/encrypted_log.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/time_text.h"

namespace stator::kv_rocks {
namespace {

constexpr size_t kMostMessageBytes = 64 << 10;

class FileLogger final : public rocksdb::Logger {
 public:
  explicit FileLogger(std::unique_ptr<rocksdb::FSWritableFile> file) : file_(std::move(file)) {}
  ~FileLogger() override {
    if (!closed_) CloseFile().PermitUncheckedError();
  }

  using Logger::Logv;
  void Logv(const char* format, va_list arguments) override {
    va_list again;
    va_copy(again, arguments);
    const int bytes = std::vsnprintf(nullptr, 0, format, again);
    va_end(again);
    if (bytes < 0) return;
    std::string message(std::min<size_t>(static_cast<size_t>(bytes), kMostMessageBytes) + 1, '\0');
    std::vsnprintf(message.data(), message.size(), format, arguments);
    message.back() = '\n';
    const std::string line = FormatTime(clock_.NowMicros()) + " " + message;
    MutexLock lock(mutex_);
    if (file_ == nullptr) return;
    file_->Append(line, rocksdb::IOOptions(), nullptr).PermitUncheckedError();
    file_->Flush(rocksdb::IOOptions(), nullptr).PermitUncheckedError();
    size_ += line.size();
  }
  size_t GetLogFileSize() const override {
    MutexLock lock(mutex_);
    return size_;
  }

 protected:
  rocksdb::Status CloseImpl() override { return CloseFile(); }

 private:
  rocksdb::Status CloseFile() {
    MutexLock lock(mutex_);
    if (file_ == nullptr) return rocksdb::Status::OK();
    rocksdb::Status status = file_->Close(rocksdb::IOOptions(), nullptr);
    file_ = nullptr;
    return status;
  }

  const SystemClock clock_{};
  mutable Mutex mutex_;
  std::unique_ptr<rocksdb::FSWritableFile> file_ GUARDED_BY(mutex_);
  size_t size_ GUARDED_BY(mutex_) = 0;
};

}  // namespace

std::shared_ptr<rocksdb::Logger> MakeFileLogger(std::unique_ptr<rocksdb::FSWritableFile> file) {
  return std::make_shared<FileLogger>(std::move(file));
}

}  // namespace stator::kv_rocks
