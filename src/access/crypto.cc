#include "access/crypto.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/log.h"
#include "base/percent_code.h"

namespace stator::access {
namespace {

constexpr size_t kBlockBytes = 64;  // of SHA-256

// OpenSSL fails here only when it is out of memory or has no default provider; a hash that was not
// made must never be compared with anything.
void Require(bool done, std::string_view step) {
  if (done) return;
  LogError("crypto_failed", {{"step", step}});
  std::abort();
}

struct FreeDigest {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
struct FreeCipher {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};

const EVP_MD* Sha256Algorithm() {
  static const EVP_MD* const algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  Require(algorithm != nullptr, "fetch SHA256");
  return algorithm;
}

const EVP_CIPHER* GcmAlgorithm() {
  static const EVP_CIPHER* const algorithm = EVP_CIPHER_fetch(nullptr, "AES-256-GCM", nullptr);
  Require(algorithm != nullptr, "fetch AES-256-GCM");
  return algorithm;
}

// The thread's hash in progress.
class Hasher {
 public:
  Hasher() : context_(EVP_MD_CTX_new()) {
    Require(context_ != nullptr && EVP_DigestInit_ex2(context_.get(), Sha256Algorithm(), nullptr),
            "start SHA256");
  }
  void Add(std::string_view bytes) {
    Require(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()), "hash");
  }
  // Returns the hash and begins the next one.
  Digest Finish() {
    Digest digest;
    Require(EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr), "finish SHA256");
    // With no algorithm given the context keeps its own and only resets its state.
    Require(EVP_DigestInit_ex2(context_.get(), nullptr, nullptr), "restart SHA256");
    return digest;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, FreeDigest> context_;
};

Hasher& ThreadHasher() {
  thread_local Hasher hasher;
  return hasher;
}

EVP_CIPHER_CTX* ThreadCipher() {
  thread_local const std::unique_ptr<EVP_CIPHER_CTX, FreeCipher> context(EVP_CIPHER_CTX_new());
  Require(context != nullptr, "new cipher context");
  return context.get();
}

const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* Bytes(char* text) { return reinterpret_cast<unsigned char*>(text); }

constexpr char kHexDigits[] = "0123456789abcdef";

}  // namespace

Digest Sha256(std::string_view bytes) {
  Hasher& hasher = ThreadHasher();
  hasher.Add(bytes);
  return hasher.Finish();
}

Digest HmacSha256(std::string_view key, std::string_view message) {
  return HmacSha256OfPieces(key,
                            [message](FunctionRef<void(std::string_view)> take) { take(message); });
}

Digest HmacSha256OfPieces(std::string_view key,
                          FunctionRef<void(FunctionRef<void(std::string_view piece)>)> visit) {
  Digest hashed_key;
  if (key.size() > kBlockBytes) {
    hashed_key = Sha256(key);
    key = AsText(hashed_key);
  }
  char pad[kBlockBytes];
  const auto fill = [&](char mask) {
    std::memset(pad, mask, sizeof pad);
    for (size_t i = 0; i < key.size(); ++i) pad[i] = static_cast<char>(pad[i] ^ key[i]);
  };
  Hasher& hasher = ThreadHasher();
  fill(0x36);
  hasher.Add({pad, sizeof pad});
  visit([&hasher](std::string_view piece) { hasher.Add(piece); });
  const Digest inner = hasher.Finish();
  fill(0x5c);
  hasher.Add({pad, sizeof pad});
  hasher.Add(AsText(inner));
  return hasher.Finish();
}

void AppendHex(std::string_view bytes, std::string* out) {
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out->push_back(kHexDigits[byte >> 4]);
    out->push_back(kHexDigits[byte & 15]);
  }
}

std::string Hex(std::string_view bytes) {
  std::string out;
  AppendHex(bytes, &out);
  return out;
}

void WriteHex(const Digest& digest, char* out) {
  for (const uint8_t byte : digest) {
    *out++ = kHexDigits[byte >> 4];
    *out++ = kHexDigits[byte & 15];
  }
}

bool ParseHex(std::string_view text, std::string* out) {
  if (text.size() % 2 != 0) return false;
  std::string bytes;
  bytes.reserve(text.size() / 2);
  for (size_t i = 0; i < text.size(); i += 2) {
    const int high = HexDigit(text[i]);
    const int low = HexDigit(text[i + 1]);
    if (high < 0 || low < 0) return false;
    bytes.push_back(static_cast<char>(high * 16 + low));
  }
  out->append(bytes);
  return true;
}

bool EqualInConstantTime(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

void EncryptGcm(std::string_view key, std::string_view nonce, std::string_view associated,
                std::string_view plain, std::string* out) {
  Require(key.size() == 32 && nonce.size() == kGcmNonceBytes, "key and nonce of AES-256-GCM");
  EVP_CIPHER_CTX* context = ThreadCipher();
  const size_t start = out->size();
  out->resize(start + plain.size() + kGcmTagBytes);
  int written = 0;
  Require(EVP_EncryptInit_ex2(context, GcmAlgorithm(), Bytes(key), Bytes(nonce), nullptr),
          "start AES-256-GCM");
  if (!associated.empty()) {
    Require(EVP_EncryptUpdate(context, nullptr, &written, Bytes(associated),
                              static_cast<int>(associated.size())),
            "authenticate");
  }
  unsigned char* text = Bytes(out->data() + start);
  Require(EVP_EncryptUpdate(context, text, &written, Bytes(plain), static_cast<int>(plain.size())),
          "encrypt");
  Require(EVP_EncryptFinal_ex(context, text + written, &written), "finish AES-256-GCM");
  Require(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, kGcmTagBytes, text + plain.size()),
          "tag of AES-256-GCM");
}

bool DecryptGcm(std::string_view key, std::string_view nonce, std::string_view associated,
                std::string_view sealed, std::string* out) {
  if (sealed.size() < kGcmTagBytes || key.size() != 32 || nonce.size() != kGcmNonceBytes)
    return false;
  EVP_CIPHER_CTX* context = ThreadCipher();
  std::string_view cipher = sealed.substr(0, sealed.size() - kGcmTagBytes);
  std::string tag(sealed.substr(cipher.size()));
  std::string plain(cipher.size() + kGcmTagBytes, '\0');  // never empty: it is written to below
  int written = 0;
  Require(EVP_DecryptInit_ex2(context, GcmAlgorithm(), Bytes(key), Bytes(nonce), nullptr),
          "start AES-256-GCM");
  Require(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, kGcmTagBytes, tag.data()),
          "tag of AES-256-GCM");
  if (!associated.empty()) {
    Require(EVP_DecryptUpdate(context, nullptr, &written, Bytes(associated),
                              static_cast<int>(associated.size())),
            "authenticate");
  }
  unsigned char* text = Bytes(plain.data());
  if (!EVP_DecryptUpdate(context, text, &written, Bytes(cipher), static_cast<int>(cipher.size())))
    return false;
  int rest = 0;
  if (EVP_DecryptFinal_ex(context, text + written, &rest) <= 0) return false;
  plain.resize(cipher.size());
  out->append(plain);
  return true;
}

std::string SecureRandom::Bytes(size_t size) {
  std::string bytes(size, '\0');
  Fill(bytes.data(), size);
  return bytes;
}

uint32_t SecureRandom::Below(uint32_t bound) {
  // Numbers of the last, incomplete run of `bound` are drawn again: a remainder alone would favour
  // small results.
  const uint32_t limit = UINT32_MAX - UINT32_MAX % bound;
  uint32_t number = 0;
  do {
    Fill(&number, sizeof number);
  } while (number >= limit);
  return number % bound;
}

void SystemSecureRandom::Fill(void* out, size_t size) {
  Require(RAND_bytes(static_cast<unsigned char*>(out), static_cast<int>(size)) == 1,
          "random bytes");
}

}  // namespace stator::access
