// Encodes a recording: one JSON object and a line feed for each record. docs/advise.md has the
// grammar.
#pragma once

#include <string>

#include "base/json_writer.h"
#include "request_log/keyed_hash.h"
#include "request_log/record.h"

namespace stator::request_log {

std::string WriteLine(const Header& header);
std::string WriteLine(const TableDefinition& table);
std::string WriteLine(const Request& request);
std::string WriteLine(const Lost& lost);
std::string WriteLine(const End& end);

// Replaces all keys by their hashes under a secret.
void HashKeys(const HashSecret& secret, Request* request);

}  // namespace stator::request_log
