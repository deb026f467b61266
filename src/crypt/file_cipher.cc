#include "crypt/file_cipher.h"

#include <openssl/evp.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/log.h"

namespace stator::crypt {
namespace {

constexpr size_t kBlock = 16;
constexpr size_t kMostAtOnce = 1 << 30;  // OpenSSL counts in int
constexpr size_t kMostIdle = 4;

// OpenSSL fails here only when it is out of memory or has no default provider.
void Require(bool done, const char* step) {
  if (done) return;
  LogError("crypto_failed", {{"step", step}});
  std::abort();
}

const EVP_CIPHER* Algorithm() {
  static const EVP_CIPHER* const algorithm = EVP_CIPHER_fetch(nullptr, "AES-256-CTR", nullptr);
  Require(algorithm != nullptr, "fetch AES-256-CTR");
  return algorithm;
}

const unsigned char* Bytes(const char* text) {
  return reinterpret_cast<const unsigned char*>(text);
}
unsigned char* Bytes(char* text) { return reinterpret_cast<unsigned char*>(text); }

}  // namespace

// A key schedule and a place in the key stream.
class FileCipher::Context {
 public:
  explicit Context(const DataKey& key) : context_(EVP_CIPHER_CTX_new()) {
    Require(context_ != nullptr && EVP_EncryptInit_ex2(context_, Algorithm(), Bytes(key.key.data()),
                                                       Bytes(key.counter.data()), nullptr),
            "start AES-256-CTR");
  }
  ~Context() { EVP_CIPHER_CTX_free(context_); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  uint64_t at() const { return at_; }
  void Seek(const DataKey& key, uint64_t offset) {
    if (offset == at_) return;
    unsigned char counter[kBlock];
    uint64_t carry = offset / kBlock;
    for (size_t i = kBlock; i-- > 0;) {
      carry += static_cast<unsigned char>(key.counter[i]);
      counter[i] = static_cast<unsigned char>(carry);
      carry >>= 8;
    }
    Require(EVP_EncryptInit_ex2(context_, nullptr, nullptr, counter, nullptr),
            "restart AES-256-CTR");
    at_ = offset - offset % kBlock;
    char skipped[kBlock] = {};
    if (offset % kBlock != 0) Apply(skipped, offset % kBlock, skipped);
  }
  void Apply(const char* in, size_t size, char* out) {
    at_ += size;
    while (size > 0) {
      const size_t part = std::min(size, kMostAtOnce);
      int written = 0;
      Require(EVP_EncryptUpdate(context_, Bytes(out), &written, Bytes(in), static_cast<int>(part)),
              "AES-256-CTR");
      in += part;
      out += part;
      size -= part;
    }
  }

 private:
  EVP_CIPHER_CTX* const context_;
  uint64_t at_ = 0;
};

FileCipher::FileCipher(const DataKey& key) : key_(key) {}
FileCipher::~FileCipher() = default;

std::unique_ptr<FileCipher::Context> FileCipher::Take(uint64_t offset) const {
  {
    MutexLock lock(mutex_);
    if (!idle_.empty()) {
      auto taken = std::find_if(idle_.begin(), idle_.end(),
                                [offset](const auto& each) { return each->at() == offset; });
      if (taken == idle_.end()) taken = idle_.end() - 1;
      std::unique_ptr<Context> context = std::move(*taken);
      idle_.erase(taken);
      return context;
    }
  }
  return std::make_unique<Context>(key_);
}

void FileCipher::Apply(uint64_t offset, const char* in, size_t size, char* out) const {
  if (size == 0) return;
  std::unique_ptr<Context> context = Take(offset);
  context->Seek(key_, offset);
  context->Apply(in, size, out);
  MutexLock lock(mutex_);
  if (idle_.size() < kMostIdle) idle_.push_back(std::move(context));
}

}  // namespace stator::crypt
