// `stator cert`: makes a certification authority and a certificate for a server, or for a client.
#pragma once

#include <string>
#include <vector>

namespace stator::server {

struct CertCommand {
  std::string out_dir;
  std::vector<std::string> hosts;  // beside localhost, 127.0.0.1 and ::1
  std::string authority_dir;  // with the ca.pem and ca.key of an earlier call; empty: a new one
  std::string client;         // name of a client; empty: a server's certificate
  int days = 825;
};

// Writes server.pem and server.key, or client.pem and client.key, into out_dir, which it makes, and
// ca.pem and ca.key if it makes an authority. Keys are for their owner only. If one of the files
// exists, it changes nothing. Prints what it made and how to use it; on stderr why it did not.
// Returns the exit code.
int Execute(const CertCommand& command);

}  // namespace stator::server
