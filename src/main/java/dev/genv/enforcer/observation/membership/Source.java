package dev.genv.enforcer.observation.membership;

import java.util.List;
import java.util.Optional;

/** One kind of facts that can decide the membership of a process which has overwritten its environ. */
interface Source {
    /** In the order in which they decide. */
    List<Source> ALL = List.of(new Ancestors(), new SessionMembers(), new CgroupMembers());

    /** Returns nothing if these facts say nothing about the process. */
    Optional<Decision> decide(RelatedProcess process, Evidence evidence);
}
