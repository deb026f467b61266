#include "crypt/file_keys.h"

#include <fmt/format.h>
#include <openssl/crypto.h>

#include <algorithm>
#include <cstring>

namespace stator::crypt {
namespace {

constexpr std::string_view kMagic = "STATENC1";
constexpr size_t kIdBytes = 16;
constexpr size_t kDataBytes = sizeof(DataKey::key) + sizeof(DataKey::counter);
constexpr size_t kNonceAt = 8 + kIdBytes;
constexpr size_t kSealedAt = kNonceAt + access::kGcmNonceBytes;
constexpr size_t kRestAt = kSealedAt + kDataBytes + access::kGcmTagBytes;
static_assert(kMagic.size() == 8 && kRestAt <= 512);

// HKDF (RFC 5869) without a salt, of one block.
std::string Derive(std::string_view master, std::string_view label) {
  const access::Digest extracted = access::HmacSha256(std::string(32, '\0'), master);
  const access::Digest derived =
      access::HmacSha256(access::AsText(extracted), std::string(label) + '\x01');
  return std::string(access::AsText(derived));
}

// All of the header but the nonce, the sealed bytes and their tag.
std::string AssociatedOf(std::string_view header) {
  return std::string(header.substr(0, kNonceAt)).append(header.substr(kRestAt));
}

std::string_view IdOf(std::string_view header) { return header.substr(kMagic.size(), kIdBytes); }

access::SecureRandom& SystemRandom() {
  static access::SystemSecureRandom random;
  return random;
}

}  // namespace

DataKey::~DataKey() {
  OPENSSL_cleanse(key.data(), key.size());
  OPENSSL_cleanse(counter.data(), counter.size());
}

Form FormOf(std::string_view beginning) {
  // Pages that never reached the disk are zeros. A file of other zeros is as good as empty.
  if (beginning.find_first_not_of('\0') == std::string_view::npos) return Form::kEmpty;
  if (beginning.starts_with(kMagic))
    return beginning.size() < kHeaderBytes ? Form::kEmpty : Form::kEncrypted;
  if (kMagic.starts_with(beginning)) return Form::kEmpty;
  return Form::kPlain;
}

Result<std::shared_ptr<const FileKeys>> FileKeys::Make(const std::vector<std::string>& master_keys,
                                                       access::SecureRandom& random) {
  std::shared_ptr<FileKeys> keys(new FileKeys(random));
  for (const std::string& master : master_keys) {
    if (master.size() != kMasterKeyBytes) {
      return ValidationError(fmt::format("A key for encryption has {} bytes, not {}.",
                                         kMasterKeyBytes, master.size()));
    }
    keys->keys_.push_back({Derive(master, "stator encryption at rest: id").substr(0, kIdBytes),
                           Derive(master, "stator encryption at rest: wrapping key")});
  }
  if (keys->keys_.empty()) return ValidationError("There is no key for encryption.");
  return std::shared_ptr<const FileKeys>(std::move(keys));
}

Result<std::shared_ptr<const FileKeys>> FileKeys::Make(
    const std::vector<std::string>& master_keys) {
  return Make(master_keys, SystemRandom());
}

std::string FileKeys::key_id() const { return access::Hex(keys_.front().id); }

void FileKeys::Seal(const DataKey& data, std::string* header) const {
  const std::string nonce = random_.Bytes(access::kGcmNonceBytes);
  header->assign(kMagic);
  header->append(keys_.front().id).append(nonce);
  header->resize(kHeaderBytes, '\0');
  std::string plain(data.key.data(), data.key.size());
  plain.append(data.counter.data(), data.counter.size());
  std::string sealed;
  access::EncryptGcm(keys_.front().wrapping, nonce, AssociatedOf(*header), plain, &sealed);
  OPENSSL_cleanse(plain.data(), plain.size());
  header->replace(kSealedAt, sealed.size(), sealed);
}

DataKey FileKeys::NewFile(std::string* header) const {
  DataKey data;
  random_.Fill(data.key.data(), data.key.size());
  random_.Fill(data.counter.data(), data.counter.size());
  Seal(data, header);
  return data;
}

Result<DataKey> FileKeys::Open(std::string_view header, std::string_view file) const {
  if (header.size() != kHeaderBytes || !header.starts_with(kMagic))
    return CorruptionError(fmt::format("{} does not begin as an encrypted file does", file));
  const std::string_view id = IdOf(header);
  const auto key =
      std::find_if(keys_.begin(), keys_.end(), [id](const Key& each) { return each.id == id; });
  if (key == keys_.end()) {
    return ValidationError(
        fmt::format("{} is encrypted with the key {}, and the key that was given is {}", file,
                    access::Hex(id), key_id()));
  }
  std::string plain;
  if (!access::DecryptGcm(key->wrapping, header.substr(kNonceAt, access::kGcmNonceBytes),
                          AssociatedOf(header), header.substr(kSealedAt, kRestAt - kSealedAt),
                          &plain))
    return CorruptionError(fmt::format("{} is damaged: its header does not open", file));
  DataKey data;
  std::memcpy(data.key.data(), plain.data(), data.key.size());
  std::memcpy(data.counter.data(), plain.data() + data.key.size(), data.counter.size());
  OPENSSL_cleanse(plain.data(), plain.size());
  return data;
}

Result<std::optional<std::string>> FileKeys::Renew(std::string_view header,
                                                   std::string_view file) const {
  ASSIGN_OR_RETURN(const DataKey data, Open(header, file));
  if (IdOf(header) == keys_.front().id) return std::optional<std::string>();
  std::string renewed;
  Seal(data, &renewed);
  return std::optional<std::string>(std::move(renewed));
}

}  // namespace stator::crypt
