// The access key and the Region of requests, from where SDKs and the AWS CLI take them.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "access/sigv4.h"
#include "base/result.h"

namespace stator::api_client {

struct Credentials {
  access::SigningKey key;
  std::string region;
  std::string source;       // for people: where the key was found
  bool is_made_up = false;  // there was none: a server without access control takes any
};

// Returns the value of a variable; nothing if it is not set or empty.
using Variables = std::function<std::optional<std::string>(const std::string& name)>;
Variables ProcessEnvironment();

// Returns `variables` as if the profile were named and no key set: what an option --profile means.
// An empty profile changes nothing.
Variables WithProfile(Variables variables, std::string profile);

// Finds an access key and a Region. The key comes from the first of: AWS_ACCESS_KEY_ID,
// AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN; the profile (AWS_PROFILE or `default`) in the
// credentials or config file; a made-up key. The Region comes from the first of: AWS_REGION,
// AWS_DEFAULT_REGION, the profile, us-east-1. kValidation if only half of a key is given, or a
// named profile has none. Reads files.
Result<Credentials> FindCredentials(const Variables& variables);

}  // namespace stator::api_client
