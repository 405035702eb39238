-- Version 16: samples of the instructions that the warps of a GPU execute, by stall reason.

-- A kernel with samples.
create table sampled_kernel (
    id integer primary key,
    run integer not null,
    process integer,          -- null: the run's only process
    device integer,
    number integer not null,  -- in the run, from 0
    name integer not null,    -- string.id: as in kernel
    symbol integer not null,  -- string.id: name in the machine code
    cubin integer not null    -- checksum of its module, as in kernel_code
);

-- A sampled instruction of such a kernel.
create table sampled_instruction (
    id integer primary key,
    run integer not null,
    number integer not null,  -- in the run, from 0, by kernel and offset
    kernel integer not null,  -- number of the sampled_kernel
    offset integer not null,  -- bytes from the beginning of the kernel
    text integer,             -- string.id: the instruction; null: not disassembled
    file integer,             -- string.id: that it was compiled from; null: unknown
    line integer,
    caller_file integer,      -- string.id: of the kernel's own line at which the function of `line` is inlined
    caller_line integer,
    inlined integer           -- string.id: name of that function
);

-- Its samples with one stall reason.
create table stall_sample (
    id integer primary key,
    run integer not null,
    instruction integer not null, -- number of the sampled_instruction
    reason integer not null,      -- string.id: long_scoreboard
    samples integer not null,
    unissued integer not null     -- of these, at which the scheduler issued no instruction of any warp
);

-- The machine code of modules with sampled kernels.
create table kernel_code (
    id integer primary key,
    run integer not null,
    cubin integer not null,   -- CUPTI's checksum of it
    bytes integer not null,
    code blob not null        -- an ELF file
);

-- The files that sampled instructions were compiled from.
create table kernel_source (
    id integer primary key,
    run integer not null,
    file integer not null,    -- string.id
    digest text not null,     -- SHA-256 of its contents
    text blob                 -- its contents; null: not kept
);

create view kernel_samples as
select k.run, k.process, k.device, k.number as kernel, n.text as name, i.offset, t.text as instruction, f.text as file,
       i.line, cf.text as caller_file, i.caller_line, r.text as reason, s.samples, s.unissued
from stall_sample s
join sampled_instruction i on i.run = s.run and i.number = s.instruction
join sampled_kernel k on k.run = i.run and k.number = i.kernel
left join string n on n.id = k.name
left join string t on t.id = i.text
left join string f on f.id = i.file
left join string cf on cf.id = i.caller_file
left join string r on r.id = s.reason;

-- reading older files:
create temp view sampled_kernel as
select null as id, null as run, null as process, null as device, null as number, null as name, null as symbol,
       null as cubin where 0;
create temp view sampled_instruction as
select null as id, null as run, null as number, null as kernel, null as offset, null as text, null as file, null as line,
       null as caller_file, null as caller_line, null as inlined where 0;
create temp view stall_sample as
select null as id, null as run, null as instruction, null as reason, null as samples, null as unissued where 0;
create temp view kernel_code as
select null as id, null as run, null as cubin, null as bytes, null as code where 0;
create temp view kernel_source as
select null as id, null as run, null as file, null as digest, null as text where 0;
