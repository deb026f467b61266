// Clients of S3 as a server's settings name them.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "egress/url.h"
#include "s3/client.h"

namespace stator::s3 {

// A bucket, and what stands before the keys in it.
struct Place {
  egress::Url endpoint;  // without a path
  std::string bucket;
  std::string prefix;  // empty, or ends in a slash
};
// Parses https://HOST[:PORT]/BUCKET[/PREFIX]. kValidation with a sentence.
Result<Place> ParsePlace(std::string_view text);

// True for 1 to 255 letters, digits, "_", "." and "-", with a letter or a digit at both ends.
bool IsBucketName(std::string_view name);

// Returns options of a client with the access key and the Region of the process, as SDKs find them
// (api_client/credentials.h), and the authorities of `ca_file`; empty: the system's. Calls nothing.
// kValidation, with a sentence, if there is no key or no authorities.
Result<Options> OptionsFor(egress::Url endpoint, const std::string& ca_file);

}  // namespace stator::s3
