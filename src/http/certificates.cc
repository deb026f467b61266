#include "http/certificates.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <memory>

#include "base/printable.h"

namespace stator::http {
namespace {

constexpr size_t kMaxCommonName = 64;
constexpr size_t kMaxHost = 253;
constexpr int kSerialBytes = 16;
// A certificate is valid from this time before its creation on, so that clients whose clocks are
// slow accept it.
constexpr long kSecondsBefore = 3600;
constexpr long kVersion3 = 2;

template <auto kFree>
struct Free {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Free<X509_free>>;
using Memory = std::unique_ptr<BIO, Free<BIO_free_all>>;
using Extension = std::unique_ptr<X509_EXTENSION, Free<X509_EXTENSION_free>>;

Error OpenSslError(std::string_view what) {
  const char* const reason = ERR_reason_error_string(ERR_peek_error());
  std::string text = fmt::format("{}: {}", what, reason != nullptr ? reason : "OpenSSL failed");
  ERR_clear_error();
  return ValidationError(std::move(text));
}

std::string TextOf(const Memory& memory) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &bytes);
  return std::string(bytes, static_cast<size_t>(size));
}

Memory MemoryOf(const std::string& text) {
  return Memory(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

struct Authority {
  Certificate certificate;
  Key key;
};

Result<Authority> ReadAuthority(const KeyedCertificate& pem) {
  ERR_clear_error();
  Authority authority;
  authority.certificate.reset(
      PEM_read_bio_X509(MemoryOf(pem.certificate).get(), nullptr, nullptr, nullptr));
  if (authority.certificate == nullptr) return OpenSslError("cannot read the authority");
  // A passphrase is not asked for.
  char none[] = "";
  authority.key.reset(PEM_read_bio_PrivateKey(MemoryOf(pem.key).get(), nullptr, nullptr, none));
  if (authority.key == nullptr) return OpenSslError("cannot read the key of the authority");
  if (X509_check_private_key(authority.certificate.get(), authority.key.get()) != 1)
    return OpenSslError("the authority has another key");
  return authority;
}

bool Add(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  return extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1;
}

struct Contents {
  std::string name;
  int days;
  std::string constraints;
  std::string usage;
  std::string purpose;  // empty: an authority's
  std::string hosts;    // empty: none
};

// `authority`: null for one that signs itself.
Result<KeyedCertificate> Make(const Contents& contents, const Authority* authority) {
  ERR_clear_error();
  const Key key(EVP_EC_gen("P-256"));
  const Certificate certificate(X509_new());
  X509* const x509 = certificate.get();
  unsigned char serial[kSerialBytes];
  if (key == nullptr || x509 == nullptr || RAND_bytes(serial, sizeof(serial)) != 1)
    return OpenSslError("cannot make a key");
  serial[0] &= 0x7f;  // a positive number
  X509* const issuer = authority == nullptr ? x509 : authority->certificate.get();
  X509_NAME* const subject = X509_get_subject_name(x509);
  const auto* const name = reinterpret_cast<const unsigned char*>(contents.name.data());
  const std::unique_ptr<BIGNUM, Free<BN_free>> number(BN_bin2bn(serial, sizeof(serial), nullptr));
  const bool made =
      number != nullptr && X509_set_version(x509, kVersion3) == 1 &&
      BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(x509)) != nullptr &&
      X509_gmtime_adj(X509_getm_notBefore(x509), -kSecondsBefore) != nullptr &&
      X509_time_adj_ex(X509_getm_notAfter(x509), contents.days, 0, nullptr) != nullptr &&
      X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, name,
                                 static_cast<int>(contents.name.size()), -1, 0) == 1 &&
      X509_set_issuer_name(x509, X509_get_subject_name(issuer)) == 1 &&
      X509_set_pubkey(x509, key.get()) == 1 &&
      Add(x509, issuer, NID_basic_constraints, "critical," + contents.constraints) &&
      Add(x509, issuer, NID_key_usage, "critical," + contents.usage) &&
      Add(x509, issuer, NID_subject_key_identifier, "hash") &&
      Add(x509, issuer, NID_authority_key_identifier, "keyid:always") &&
      (contents.purpose.empty() || Add(x509, issuer, NID_ext_key_usage, contents.purpose)) &&
      (contents.hosts.empty() || Add(x509, issuer, NID_subject_alt_name, contents.hosts)) &&
      X509_sign(x509, authority == nullptr ? key.get() : authority->key.get(), EVP_sha256()) > 0;
  if (!made) return OpenSslError("cannot make a certificate");
  const Memory certificate_text(BIO_new(BIO_s_mem())), key_text(BIO_new(BIO_s_mem()));
  if (certificate_text == nullptr || key_text == nullptr ||
      PEM_write_bio_X509(certificate_text.get(), x509) != 1 ||
      PEM_write_bio_PKCS8PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr,
                                    nullptr) != 1)
    return OpenSslError("cannot write a certificate");
  return KeyedCertificate{TextOf(certificate_text), TextOf(key_text)};
}

bool IsAddress(const std::string& host) {
  in6_addr address;
  return inet_pton(AF_INET, host.c_str(), &address) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

// Letters, digits, hyphens, underscores and dots, with *. in front at the most: nothing that means
// something to OpenSSL's list of names.
bool IsName(std::string_view host) {
  if (host.starts_with("*.")) host.remove_prefix(2);
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  return !host.empty() && host.size() <= kMaxHost && host.front() != '.' &&
         std::all_of(host.begin(), host.end(), allowed);
}

Result<std::string> NamesOf(const std::vector<std::string>& hosts) {
  std::string names;
  for (const std::string& host : hosts) {
    const bool address = IsAddress(host);
    if (!address && !IsName(host)) {
      return ValidationError(
          fmt::format("\"{}\" is neither a host name nor an address", Printable(host)));
    }
    names += fmt::format("{}{}:{}", names.empty() ? "" : ",", address ? "IP" : "DNS", host);
  }
  if (names.empty()) return ValidationError("a server's certificate needs a host");
  return names;
}

}  // namespace

Result<KeyedCertificate> MakeAuthority(const std::string& name, int days) {
  return Make({name, days, "CA:TRUE,pathlen:0", "keyCertSign,cRLSign", "", ""}, nullptr);
}

Result<KeyedCertificate> MakeServerCertificate(const KeyedCertificate& authority,
                                               const std::vector<std::string>& hosts, int days) {
  ASSIGN_OR_RETURN(const std::string names, NamesOf(hosts));
  ASSIGN_OR_RETURN(const Authority issuer, ReadAuthority(authority));
  const std::string& first = hosts.front();
  const std::string name = first.size() <= kMaxCommonName ? first : std::string("stator");
  return Make({name, days, "CA:FALSE", "digitalSignature", "serverAuth", names}, &issuer);
}

Result<KeyedCertificate> MakeClientCertificate(const KeyedCertificate& authority,
                                               const std::string& name, int days) {
  if (name.empty() || name.size() > kMaxCommonName)
    return ValidationError("the name of a client has 1 to 64 bytes");
  ASSIGN_OR_RETURN(const Authority issuer, ReadAuthority(authority));
  return Make({name, days, "CA:FALSE", "digitalSignature", "clientAuth", ""}, &issuer);
}

}  // namespace stator::http
