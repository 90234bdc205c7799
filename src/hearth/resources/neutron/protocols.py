"""The protocols that a security group rule may name."""

NAMES = (
    "ah dccp egp esp gre icmp icmpv6 igmp ipv6-encap ipv6-frag ipv6-icmp ipv6-nonxt ipv6-opts "
    "ipv6-route ospf pgm rsvp sctp tcp udp udplite vrrp"
)
PROTOCOLS: tuple[str | int, ...] = (*range(256), *NAMES.split())
