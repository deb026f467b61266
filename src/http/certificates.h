// Makes certificates: a certification authority, and what it signs. ECDSA on P-256.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace stator::http {

// A certificate and its private key, in PEM.
struct KeyedCertificate {
  std::string certificate;
  std::string key;
};

// Makes an authority that signs itself. It may sign servers and clients, no other authorities.
Result<KeyedCertificate> MakeAuthority(const std::string& name, int days);

// Makes a certificate for a server that clients reach under `hosts`, names or addresses.
// kValidation for an empty list, a host that is neither, and an authority that cannot be read.
Result<KeyedCertificate> MakeServerCertificate(const KeyedCertificate& authority,
                                               const std::vector<std::string>& hosts, int days);

// Makes a certificate for a client of that name. kValidation for a name that is empty or longer
// than 64 bytes, and an authority that cannot be read.
Result<KeyedCertificate> MakeClientCertificate(const KeyedCertificate& authority,
                                               const std::string& name, int days);

}  // namespace stator::http
