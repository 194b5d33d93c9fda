package dev.genv.enforcer.facts.host;

/**
 * What the process that gathers the facts may do on the machine.
 *
 * @param pid its own pid
 * @param capabilities its effective capabilities, as bits of {@code linux/capability.h}; 0 if unknown
 * @param pidNamespace the target of {@code /proc/self/ns/pid}; empty if unknown
 * @param securityLabel the label that a security module such as AppArmor gave it; empty if there is none
 * @param stateIsWritable whether it may write in the state directory; true if there is no such directory, or if it was not
 *     examined
 */
public record AccessFacts(
        int pid, long capabilities, String pidNamespace, String securityLabel, boolean stateIsWritable) {}
